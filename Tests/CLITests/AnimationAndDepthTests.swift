import Calotype
import Foundation
import TestSupport
import Testing

/// Animations stay animations, and deep pictures deep, where the file that is written can hold them.
@Suite struct AnimationAndDepthTests {
  private func gif() -> Data {
    var gif = MadeGIF(width: 64, height: 48, loops: 0)
    for frame in 0..<5 { gif.add(color: UInt8(frame % 4), delay: 4 + frame) }
    return gif.file
  }

  @Test func thumbnailsKeepTheFrames() async throws {
    let tool = try Tool()
    try tool.folder.write(gif(), to: "a.gif")
    for (name, frames) in [("a.webp", 5), ("a.png", 5), ("a.avif", 5), ("a.jpg", 1)] {
      let result = try await tool("thumbnail", "a.gif", "-o", name, "--size", "20", "--circle")
      #expect(result.status == 0, "\(result.errorText)")
      let info = try tool.info(name)
      #expect(info.frameCount == frames, "\(name)")
      #expect(info.displaySize == PixelSize(width: 15, height: 15))
    }
    let folder = try await tool("thumbnail", "a.gif", "-o", "out/", "--size", "20")
    #expect(folder.status == 0, "\(folder.errorText)")
    #expect(tool.names("out") == ["a.webp"])
    let animation = try #require(ImageDecoder().animation(of: try tool.data("out/a.webp")))
    #expect((0..<5).map { animation.delay(at: $0) } == [0.04, 0.05, 0.06, 0.07, 0.08])
    #expect(animation.loopCount == 0)
    for name in ["b.webp", "b.png"] {
      let still = try await tool("thumbnail", "a.gif", "-o", name, "--still")
      #expect(still.status == 0, "\(still.errorText)")
      #expect(try tool.info(name).frameCount == 1)
    }
    let wrong = try await tool("thumbnail", "a.gif", "-o", "c", "--still", "--format", "original")
    #expect(wrong.status == 2)
  }

  /// As ImageMagick has it: what goes to standard output keeps its format, unless another is asked for. A GIF of
  /// which something is asked becomes a WebP there too.
  @Test func aGIFToStandardOutput() async throws {
    let tool = try Tool()
    try tool.folder.write(gif(), to: "a.gif")
    for (options, format, frames) in [
      ([], ImageFormat.gif, 5), (["--format", "original"], .gif, 5), (["--size", "20"], .webp, 5),
      (["--quality", "50"], .webp, 5), (["--size", "20", "--still"], .png, 1),
      (["--format", "png"], .png, 5),
    ] {
      let result = try await tool.run(["thumbnail", "a.gif", "-o", "-"] + options)
      #expect(result.status == 0, "\(result.errorText)")
      let info = try ImageDecoder().inspect(result.output)
      #expect(info.format == format && info.frameCount == frames, "\(options)")
      if format == .gif { #expect(result.output == gif()) }
    }
  }

  @Test func fetchKeepsTheFrames() async throws {
    let tool = try Tool()
    let body = Array(gif())
    let server = try ScriptedServer { _ in
      .ok(body, type: "image/gif", headers: [("Cache-Control", "max-age=600")])
    }
    try tool.folder.write(Data("\(server.url("/moving.gif"))\n".utf8), to: "list.txt")
    for (folder, options, name, frames) in [
      ("moving", [], "moving.webp", 5), ("still", ["--still"], "moving.png", 1),
      ("png", ["--format", "png"], "moving.png", 5),
    ] {
      for _ in 0..<2 {
        let result = try await tool.run(
          ["fetch", "list.txt", "--output", folder, "--size", "16", "--cache-dir", "c"] + options)
        #expect(result.status == 0, "\(result.errorText)")
        #expect(tool.names(folder).filter { !$0.hasPrefix(".") } == [name])
        #expect(try tool.info("\(folder)/\(name)").frameCount == frames)
      }
    }
    #expect(server.requests.count == 1)
  }

  @Test func deepPicturesKeepTheirDepth() async throws {
    let tool = try Tool()
    let size = PixelSize(width: 40, height: 30)
    let deep = try DeepBitmap(size: size, isOpaque: true, colorSpace: .displayP3) { pixels in
      for at in 0..<size.pixelCount {
        for channel in 0..<3 { pixels[at * 4 + channel] = UInt16(at * 50 + channel * 900) }
        pixels[at * 4 + 3] = 65_535
      }
    }
    try tool.folder.write(try ImageEncoder().encode(deep, options: .init(format: .png)), to: "deep.png")
    for (output, options, bits) in [
      ("a.png", ["--deep"], 16), ("a.avif", ["--deep"], 10), ("b.png", [], 8), ("a.jpg", ["--deep"], 8),
    ] {
      let result = try await tool.run(["thumbnail", "deep.png", "-o", output, "--size", "20"] + options)
      #expect(result.status == 0, "\(result.errorText)")
      #expect(try tool.info(output).bitsPerChannel == bits, "\(output)")
    }
    let kept = try ImageDecoder().decode(try tool.data("a.png"), options: .init(isDeep: true))
    #expect(kept.deepBitmap?.colorSpace == .displayP3)
    let wrong = try await tool("thumbnail", "deep.png", "-o", "c.png", "--deep", "--circle")
    #expect(wrong.status == 2)
    #expect(wrong.errorText.contains("--deep"))
  }
}
