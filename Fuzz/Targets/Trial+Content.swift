#if DEBUG
  import Foundation

  @testable import Calotype

  extension Trial {
    mutating func list(_ bytes: [UInt8]) {
      guard let first = bytes.first else { return }
      let formats: [ImageListFormat?] = [nil] + ImageListFormat.allCases
      var options = ImageListOptions()
      options.format = formats[Int(first & 15) % formats.count]
      if first & 16 != 0 { options.itemsKeyPath = "data.list" }
      options.limits.maximumRowLength = 1000
      options.limits.maximumFieldCount = 50
      options.limits.maximumDepth = 32
      options.limits.maximumTitleLength = 100
      var fields = ImageListFields(options, listName: "list", listURL: URL(string: "http://h/l"))
      do throws(ImageListError) {
        let source = DataSource(Data(bytes.dropFirst()))
        let reader = try ImageListFormat.reader(source, name: "list", options: options, fields: fields)
        var count = 0
        while let record = try reader.next() {
          count += 1
          // Lists that unfold have more rows than bytes: those are bounded by their depth and by what reads them.
          if count > 10_000 { break }
          guard case .item(let item) = fields.row(record) else { continue }
          expect(item.title.count <= 100, "a title of \(item.title.count)")
          expect(item.url.scheme != nil, "an address without a scheme: \(item.url)")
          expect(item.fields.count <= 50, "\(item.fields.count) fields")
        }
      } catch {
        expect(!error.description.isEmpty, "an error without words")
      }
    }

    mutating func pictureHeader(_ bytes: [UInt8]) {
      let data = Data(bytes)
      let format = ImageFormat.detect(data)
      do throws(ImageDecodingError) {
        let info = try ImageDecoder().inspect(data)
        expect(info.format == format || format != nil, "a header of what is no picture")
        expect(info.storedSize.width > 0 && info.storedSize.height > 0, "a size of \(info.storedSize)")
        expect(info.storedSize.pixelCount <= 100_000_000, "over the limit: \(info.storedSize)")
        expect(info.frameCount >= 1, "\(info.frameCount) frames")
      } catch {
        expect(!error.description.isEmpty && !error.code.isEmpty, "an error without words")
      }
    }

    mutating func picture(_ bytes: [UInt8]) {
      let limits = ImageDecodingLimits(maximumPixelCount: 1 << 16, maximumSeconds: 5)
      for target in [nil, TargetSize(width: 7, height: 5, mode: .fill)] {
        let options = ImageDecodingOptions(targetSize: target, limits: limits)
        do throws(ImageDecodingError) {
          let container = try ImageDecoder().decode(Data(bytes), options: options)
          expect(container.bitmap.width > 0 && container.bitmap.height > 0, "an empty picture")
          expect(container.bitmap.size.pixelCount <= 1 << 16, "over the limit")
        } catch {
          expect(!error.description.isEmpty, "an error without words")
        }
      }
    }

    mutating func workerMessages(_ bytes: [UInt8]) {
      let request = bytes.withUnsafeBytes { WorkerRequest($0) }
      let reply = bytes.withUnsafeBytes { WorkerReply($0) }
      expect(request == nil || reply == nil, "a message that is of both directions")
      if let request {
        let written = request.bytes
        let again = written.withUnsafeBytes { WorkerRequest($0) }
        expect(again?.bytes == written, "a request is another after writing and reading")
      }
      if let reply {
        let written = reply.bytes
        let again = written.withUnsafeBytes { WorkerReply($0) }
        expect(again?.bytes == written, "a reply is another after writing and reading")
      }
    }

    mutating func escaping(_ bytes: [UInt8]) {
      let text = String(decoding: bytes, as: UTF8.self)
      for shown in [Escaping.displaySafe(text), Escaping.displaySafe(bytes: bytes)] {
        expect(
          !shown.unicodeScalars.contains(where: Escaping.isUnsafeForDisplay), "something unsafe is shown")
        expect(Escaping.displaySafe(shown) == shown, "shown again it is another")
      }
      let html = Escaping.html(text)
      expect(!html.utf8.contains { "<>\"'".utf8.contains($0) }, "markup is left in \(html)")
      expect(!html.unicodeScalars.contains(where: Escaping.isUnsafeForDisplay), "something unsafe in HTML")
      let name = Escaping.fileName(text)
      expect(!name.isEmpty && name.utf8.count <= 200 - 16, "a name of \(name.utf8.count) bytes")
      expect(name != "." && name != ".." && !name.hasPrefix("-") && !name.hasPrefix("."), "the name \(name)")
      expect(
        !name.unicodeScalars.contains { "/\\:*?\"<>|".unicodeScalars.contains($0) || $0.value < 0x20 },
        "the name \(name)")
      expect(Escaping.fileName(name) == name, "\(name) made a name again is \(Escaping.fileName(name))")
    }
  }
#endif
