import Calotype
import CalotypeGTK
import Foundation

switch StartOptions(CommandLine.arguments.dropFirst()) {
case .text(let text):
  print(text)
case .mistake(let text):
  FileHandle.standardError.write(Data("calotype-gallery: \(text)\n".utf8))
  exit(2)
case .run:
  MainLoopBridge.start()
  Translation.start()
  exit(GalleryApplication().run(CommandLine.arguments))
}
