import Calotype
import Foundation
import TestSupport
import Testing

@Suite struct PictureCommandTests {
  @Test func thumbnailOfAFileAnAddressAndStandardInput() async throws {
    let tool = try Tool()
    let server = try ScriptedServer(routes: [
      "/photo.jpg": [.ok(try Picture.encoded(.jpeg, width: 300, height: 200))]
    ])
    try tool.folder.write(try Picture.png(width: 300, height: 200), to: "a.png")
    let file = try await tool(
      "thumbnail", "a.png", "-o", "small.jpg", "--size", "60", "--json", "--quality", "50")
    #expect(file.status == 0, "\(file.errorText)")
    let report = try #require(try jsonLines(file.output).first)
    #expect(report["format"] as? String == "jpeg")
    #expect(report["width"] as? Int == 60)
    #expect(report["bytes"] as? Int == (try tool.data("small.jpg").count))
    #expect(try tool.info("small.jpg").displaySize == PixelSize(width: 60, height: 40))
    let several = try await tool(
      "thumbnail", "a.png", server.url("/photo.jpg").absoluteString, "-o", "thumbs", "-s", "30", "-m", "fill",
      "--cache-dir", "c")
    #expect(several.status == 0, "\(several.errorText)")
    #expect(tool.names("thumbs") == ["a.png", "photo.jpg"])
    #expect(try tool.info("thumbs/photo.jpg").displaySize == PixelSize(width: 30, height: 30))
    let piped = try await tool("thumbnail", "-", "-o", "-", "--size", "10", input: try tool.data("a.png"))
    #expect(try ImageDecoder().inspect(piped.output).displaySize.width == 10)
    let original = try await tool("thumbnail", "a.png", "-o", "copy/", "--format", "original", "--quiet")
    #expect(original.text == "")
    #expect(try tool.data("copy/a.png") == tool.data("a.png"))
  }

  @Test func everyProcessorIsAnOption() async throws {
    let tool = try Tool()
    try tool.folder.write(try Picture.png(), to: "a.png")
    let mark = try Bitmap(size: PixelSize(width: 9, height: 9), isOpaque: true) { pixels in
      pixels.initializeMemory(as: UInt8.self, repeating: 255)
    }
    try tool.folder.write(
      try ImageEncoder().encode(mark, options: .init(format: .jpeg)), to: "mark, small.jpg")
    let values = [
      "resize": "20x10,fill,attention", "overlay": "mark, small.jpg,topLeft,2,0.5",
      "crop": "0,0,20,10", "flip": "h", "rotate": "90", "brightness": "1.5", "contrast": "0.5",
      "tint": "#00ff00",
      "blur": "2", "sharpen": "1", "background": "white", "round": "8", "border": "2,#0000ff",
    ]
    let plain = try await tool("thumbnail", "a.png", "-o", "-", "--format", "png")
    for option in ImageProcessors.options {
      var line = ["thumbnail", "a.png", "-o", "-", "--format", "png", "--\(option.name)"]
      if option.argument != nil {
        line.append(try #require(values[option.name], "a value for --\(option.name)"))
      }
      let result = try await tool.run(line)
      #expect(result.status == 0, "\(line): \(result.errorText)")
      #expect((try? ImageDecoder().inspect(result.output).format) == .png, "\(line)")
      if !["flip", "background", "sharpen", "blur"].contains(option.name) {
        #expect(result.output != plain.output, "\(option.name) changes this picture")
      }
      if option.argument != nil {
        let wrong = try await tool.run(line.dropLast() + ["nonsense,,"])
        #expect(wrong.status == 2, "\(option.name)")
        #expect(wrong.errorText.contains(option.name))
      }
    }
    // The same through a list.
    let server = try ScriptedServer(routes: ["/a.png": [.ok(try Picture.png())]])
    try tool.folder.write("\(server.url("/a.png").absoluteString)\n", to: "list.txt")
    for option in ImageProcessors.options {
      let value = try option.argument.map { _ in try #require(values[option.name]) }
      let options = ["--\(option.name)"] + (value.map { [$0] } ?? []) + ["--format", "png"]
      let fetched = try await tool.run(["fetch", "list.txt", "-o", "out-\(option.name)"] + options)
      #expect(fetched.status == 0, "\(option.name): \(fetched.errorText)")
      let file = try #require(tool.names("out-\(option.name)").first)
      let alone = try await tool.run(["thumbnail", "a.png", "-o", "-"] + options)
      #expect(try tool.data("out-\(option.name)/\(file)") == alone.output, "\(option.name)")
    }
    let turned = try await tool("thumbnail", "a.png", "-o", "-", "--crop", "0,0,20,10", "--rotate", "90")
    #expect(try ImageDecoder().inspect(turned.output).displaySize == PixelSize(width: 10, height: 20))
  }

  @Test func encodersTakeTheirOptions() async throws {
    let tool = try Tool()
    try tool.folder.write(try Picture.encoded(.jpeg, width: 64, height: 48), to: "a.jpg")
    func bytes(_ options: String...) async throws -> Data {
      let result = try await tool.run(["thumbnail", "a.jpg", "-o", "-"] + options)
      #expect(result.status == 0, "\(options): \(result.errorText)")
      return result.output
    }
    // SOF2 is a progressive frame's marker; the third component's sampling tells the chroma (ITU-T T.81).
    func frame(_ data: Data) throws -> [UInt8] {
      let bytes = Array(data)
      let at = try #require(
        bytes.indices.dropLast().first { bytes[$0] == 0xFF && [0xC0, 0xC2].contains(bytes[$0 + 1]) })
      return Array(bytes[at..<at + 13])
    }
    #expect(try await frame(bytes("--format", "jpeg"))[1] == 0xC0)
    #expect(try await frame(bytes("--progressive"))[1] == 0xC2)
    for (chroma, sampling) in [("full", UInt8(0x11)), ("half", 0x21), ("quarter", 0x22)] {
      #expect(try await frame(bytes("--chroma", chroma))[11] == sampling)
    }
    let pixels = try ImageDecoder().decode(tool.data("a.jpg")).bitmap
    for format in ["webp", "avif"] {
      #expect(try await ImageDecoder().decode(bytes("--format", format, "--lossless")).bitmap == pixels)
      #expect(try await ImageDecoder().decode(bytes("--format", format)).bitmap != pixels)
    }
    let (fast, small) = (
      try await bytes("--format", "png", "--effort", "fast"),
      try await bytes("--format", "png", "--effort", "small")
    )
    #expect(small.count < fast.count)
    for wrong in [
      ["--chroma", "some"], ["--effort", "none"], ["--anchor", "top"],
      ["--size", "9", "--mode", "fill", "--anchor", "up"],
    ] {
      #expect(try await tool.run(["thumbnail", "a.jpg", "-o", "-"] + wrong).status == 2, "\(wrong)")
    }
  }

  @Test func aProfileIsKeptWhereItIsWanted() async throws {
    let tool = try Tool()
    let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "CalotypeTests/Decoding/Fixtures/p3.jpg")
    let picture = try Data(contentsOf: fixture)
    try tool.folder.write(picture, to: "a.jpg")
    let server = try ScriptedServer(routes: ["/a.jpg": [.ok(Array(picture))]])
    try tool.folder.write("\(server.url("/a.jpg").absoluteString)\n", to: "list.txt")
    let name = try #require(try ImageDecoder().inspect(picture).profile)
    for (line, file) in [
      (["thumbnail", "a.jpg", "-o", "one.png"], "one.png"),
      (["fetch", "list.txt", "-o", "out"], "out/a.jpg"),
    ] {
      #expect(
        try await tool.run(
          line + ["--size", "20", "--keep-profile", "--isolation", "in-process", "--cache-dir", "c"]
        ).status == 0)
      #expect(try tool.info(file).profile == name)
      #expect(try tool.info(file).displaySize.width == 20)
    }
    // Under a sanitizer nothing is decoded in a worker.
    let refusal: Int32 = Sanitizer.isOn ? 0 : 2
    #expect(try await tool("thumbnail", "a.jpg", "-o", "no.png", "--keep-profile").status == refusal)
    #expect(try await tool("thumbnail", "a.jpg", "-o", "two.png", "--size", "20").status == 0)
    #expect(try tool.info("two.png").profile == nil)
  }

  @Test func theAnchorSaysWhatStays() async throws {
    let tool = try Tool()
    // Red at the left, blue at the right.
    let picture = try Bitmap(size: PixelSize(width: 60, height: 20), isOpaque: true) { pixels in
      for at in 0..<60 * 20 {
        let isLeft = at % 60 < 30
        pixels.storeBytes(of: isLeft ? 0xFF00_00FF : 0xFFFF_0000, toByteOffset: at * 4, as: UInt32.self)
      }
    }
    try tool.folder.write(try ImageEncoder().encode(picture, options: .init(format: .png)), to: "a.png")
    for (anchor, isRed) in [("left", true), ("right", false), ("bottomRight", false)] {
      let result = try await tool(
        "thumbnail", "a.png", "-o", "-", "--size", "10", "--mode", "fill", "--anchor", anchor)
      let bitmap = try ImageDecoder().decode(result.output).bitmap
      #expect(bitmap.size == PixelSize(width: 10, height: 10))
      #expect((bitmap[5, 5].red > 200) == isRed, "\(anchor)")
    }
  }

  @Test func placeholdersAreMade() async throws {
    let tool = try Tool()
    try tool.folder.write(try Picture.png(), to: "a.png")
    let line = try #require(
      try jsonLines(try await tool("info", "--json", "--placeholder", "a.png").output).first)
    let hash = try #require((line["thumbhash"] as? String).flatMap(ImagePlaceholder.thumbHash(base64:)))
    let pixel = try hash.bitmap()[10, 10]
    #expect(pixel.red > 150 && pixel.green < 90)
    #expect(try ImagePlaceholder.blurHash(line["blurhash"] as? String ?? "").bitmap().isOpaque)
    #expect((line["color"] as? String).flatMap(ColorValue.init(css:)) != nil)
    let text = try await tool("info", "--placeholder", "a.png").text
    #expect(text.contains("ThumbHash ") && text.contains("BlurHash ") && text.contains("average #"))
    #expect(try await !tool("info", "a.png").text.contains("ThumbHash"))
  }

  @Test func addressesOfFilesAndDataAreOperands() async throws {
    let tool = try Tool()
    let picture = try Picture.png(width: 31, height: 17)
    let file = try tool.folder.write(picture, to: "a b.png")
    let result = try await tool(
      "info", "--json", file.absoluteString, "data:image/png;base64,\(picture.base64EncodedString())",
      "file:///missing", "--cache-dir", "c")
    #expect(result.status == 1)
    let lines = try jsonLines(result.output)
    #expect(lines.map { $0["width"] as? Int } == [31, 31, nil])
    #expect(lines.last?["error"] as? String == "not_read")
    let small = try await tool(
      "thumbnail", file.absoluteString, "-o", "out/", "--size", "9", "--cache-dir", "c")
    #expect(small.status == 0, "\(small.errorText)")
    #expect(tool.names("out") == ["a b.png"])
  }

  @Test func thumbnailNamesEachFailure() async throws {
    let tool = try Tool()
    try tool.folder.write("no picture", to: "text.png")
    let result = try await tool("thumbnail", "text.png", "missing.png", "-o", "out", "--size", "9")
    #expect(result.status == 1)
    #expect(result.errorText.contains("failed: text.png: not an image"))
    #expect(result.errorText.contains("failed: missing.png: No such file or directory"))
    #expect(tool.names("out") == [])
  }

  @Test func infoOfFilesAndAddresses() async throws {
    let tool = try Tool()
    let picture = try Picture.png(width: 31, height: 17)
    let server = try ScriptedServer(routes: ["/p": [.ok(picture)]])
    try tool.folder.write(picture, to: "wrong-name.jpg")
    let result = try await tool(
      "info", "--json", "wrong-name.jpg", server.url("/p").absoluteString, "missing")
    #expect(result.status == 1)
    let lines = try jsonLines(result.output)
    #expect(lines.count == 3)
    for line in lines.prefix(2) {
      #expect(line["format"] as? String == "png")
      #expect(line["width"] as? Int == 31)
      #expect(line["height"] as? Int == 17)
      #expect(line["frames"] as? Int == 1)
      #expect(line["orientation"] as? Int == 1)
      #expect(line["bytes"] as? Int == picture.count)
      #expect(line.keys.contains("profile"))
    }
    #expect(lines.last?["message"] as? String == "No such file or directory")
    let text = try await tool("info", "wrong-name.jpg")
    #expect(text.text.hasPrefix("wrong-name.jpg: png 31×17, 8 bits"))
  }

  @Test func showDrawsCharacters() async throws {
    let tool = try Tool()
    try tool.folder.write(try Picture.png(), to: "a.png")
    let color = try await tool(
      "show", "a.png", "--columns", "10", "--rows", "5", "--as", "symbols",
      environment: ["TERM": "xterm-256color", "COLORTERM": "truecolor"])
    #expect(color.status == 0, "\(color.errorText)")
    #expect(color.text.contains("48;2;200;40;40") || color.text.contains("38;2;200;40;40"))
    #expect(color.text.split(separator: "\n").count <= 5)
    let plain = try await tool(
      "show", "a.png", "--columns", "10", environment: ["TERM": "xterm-256color", "NO_COLOR": "1"])
    #expect(plain.status == 0)
    #expect(!plain.text.contains(";2;"))
    let sixels = try await tool("show", "a.png", "--as", "sixels", environment: ["TERM": "xterm-256color"])
    #expect(sixels.text.contains("\u{1B}P"))
    #expect(try await tool("show", "missing").status == 1)
  }

  @Test func doctorSaysWhatHolds() async throws {
    let tool = try Tool()
    let result = try await tool("doctor", "--json")
    #expect(result.status == 0)
    let facts = try #require(try jsonLines(result.output).first)
    #expect(facts["version"] as? String == CalotypeVersion.string)
    #expect((facts["decodes"] as? String)?.contains("png") == true)
    #expect(facts["ok"] as? Bool == true)
    try tool.folder.write("", to: "file")
    #expect((facts["memory_pressure"] as? String)?.isEmpty == false)
    let wrong = try await tool("doctor", "--cache-dir", "file/below")
    #expect(wrong.status == 1)
    #expect(wrong.text.contains("is no folder"))
  }
}
