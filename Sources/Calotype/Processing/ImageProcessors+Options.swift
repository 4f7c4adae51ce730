extension ImageProcessors {
  /// A processor as an option of a command: its name, what its value looks like, and how it is made.
  public struct Option: Sendable {
    /// The option's long name without its dashes, such as `round`.
    public let name: String
    /// What stands for the value in a help text, such as `N`; `nil` for an option without a value.
    public let argument: String?
    /// What the option does, in one line.
    public let summary: String
    let make: @Sendable (String) throws(Invalid) -> any ImageProcessing

    /// Makes the processor of a value.
    ///
    /// - Parameter value: What was given, `nil` where nothing was.
    /// - Throws: ``ImageProcessingError/invalidOption(_:reason:)``.
    public func processor(_ value: String?) throws(ImageProcessingError) -> any ImageProcessing {
      let shown = "--\(name)" + (value.map { " \($0)" } ?? "")
      if argument == nil, value != nil { throw .invalidOption(shown, reason: "takes no value") }
      guard let value = argument == nil ? "" : value else {
        throw .invalidOption(shown, reason: "needs a value: \(argument ?? "")")
      }
      do { return try make(value) } catch { throw .invalidOption(shown, reason: error.reason) }
    }
  }

  /// What is wrong with a value.
  struct Invalid: Swift.Error { let reason: String }

  /// Every processor that can be given as an option, in the order of a help text.
  public static let options: [Option] = [
    Option(
      name: "resize", argument: "WxH[,MODE][,ANCHOR][,up]",
      summary:
        "bring to another size, in its place among the processors; MODE is fit, fill or exact, ANCHOR \(anchors)"
    ) { text throws(Invalid) in try resize(text) },
    Option(name: "crop", argument: "X,Y,W,H", summary: "cut a part out, in pixels") { text throws(Invalid) in
      let sides = try numbers(text, count: 4, as: "X,Y,W,H")
      guard sides.allSatisfy({ $0 == $0.rounded() }), sides[2] > 0, sides[3] > 0 else {
        throw Invalid(reason: "X, Y, W and H must be whole numbers, W and H over 0")
      }
      guard sides.allSatisfy({ abs($0) < 1e9 }) else {
        throw Invalid(reason: "X, Y, W and H must be under 1000000000: no picture is that large")
      }
      return Crop(x: Int(sides[0]), y: Int(sides[1]), width: Int(sides[2]), height: Int(sides[3]))
    },
    Option(name: "flip", argument: "h|v", summary: "mirror left to right, or top to bottom") {
      text throws(Invalid) in
      switch text {
      case "h", "horizontal": return Flip(.horizontal)
      case "v", "vertical": return Flip(.vertical)
      default: throw Invalid(reason: "must be h or v")
      }
    },
    Option(name: "rotate", argument: "90|180|270", summary: "turn clockwise") { text throws(Invalid) in
      switch text {
      case "90": return Rotate(quarters: 1)
      case "180": return Rotate(quarters: 2)
      case "270": return Rotate(quarters: 3)
      default: throw Invalid(reason: "must be 90, 180 or 270")
      }
    },
    Option(name: "brightness", argument: "N", summary: "multiply every colour; 1 changes nothing") {
      text throws(Invalid) in ColorAdjustment(brightness: try number(text, in: 0...1000))
    },
    Option(name: "contrast", argument: "N", summary: "multiply the distance from grey; 1 changes nothing") {
      text throws(Invalid) in ColorAdjustment(contrast: try number(text, in: 0...1000))
    },
    Option(name: "grey", argument: nil, summary: "turn grey") { _ throws(Invalid) in Grey() },
    Option(name: "tint", argument: "COLOR", summary: "wash over with a colour, such as #3399ff80") {
      text throws(Invalid) in Tint(try color(text))
    },
    Option(name: "blur", argument: "N", summary: "blur by a radius in pixels") {
      text throws(Invalid) in Blur(radius: try number(text, in: 0...100_000))
    },
    Option(
      name: "sharpen", argument: "N[,RADIUS]",
      summary: "sharpen; 0 changes nothing, 1 is strong; radius in pixels"
    ) { text throws(Invalid) in
      let parts = text.split(separator: ",", omittingEmptySubsequences: false)
      guard parts.count <= 2 else {
        throw Invalid(reason: "must be N or N,RADIUS: one number, or two with a comma between them")
      }
      let amount = try number(String(parts[0]), in: 0...1000, called: "N ")
      let radius = try parts.count > 1 ? number(String(parts[1]), in: 0...100_000, called: "RADIUS ") : 1
      return Sharpen(amount: amount, radius: radius)
    },
    Option(name: "background", argument: "COLOR", summary: "put on a colour") {
      text throws(Invalid) in Background(try color(text))
    },
    Option(name: "round", argument: "N[,N,N,N]", summary: "round the corners, from top left clockwise") {
      text throws(Invalid) in try rounded(text)
    },
    Option(name: "circle", argument: nil, summary: "cut to a circle") { _ throws(Invalid) in Circle() },
    Option(
      name: "border", argument: "W,COLOR", summary: "draw a line along the edge, also of --round, --circle"
    ) {
      text throws(Invalid) in RoundedCorners(radius: 0, border: try border(text))
    },
    Option(
      name: "overlay", argument: "FILE[,POSITION[,MARGIN[,OPACITY]]]",
      summary: "draw a picture over it: bottomRight by default, else \(overlayPositions)"
    ) { text throws(Invalid) in try overlay(text) },
  ]

  private static let anchors = Resize.Anchor.allCases.map(\.rawValue).joined(separator: ", ")
  private static let overlayPositions = Overlay.Position.allCases.map(\.rawValue)
    .filter { $0 != Overlay.Position.bottomRight.rawValue }.joined(separator: ", ")

  /// Makes the processors of options, in the order in which they were given.
  ///
  /// A border goes along the edge of the circle or the rounded corners that were given just before it.
  public static func processors(
    options given: [(name: String, value: String?)]
  ) throws(ImageProcessingError) -> [any ImageProcessing] {
    var processors: [any ImageProcessing] = []
    for (name, value) in given {
      guard let option = options.first(where: { $0.name == name }) else {
        throw .invalidOption("--\(name)", reason: "there is no such processor")
      }
      let processor = try option.processor(value)
      let border = name == "border" ? (processor as? RoundedCorners)?.border : nil
      if let border, var circle = processors.last as? Circle, circle.border == nil {
        circle.border = border
        processors[processors.count - 1] = circle
      } else if let border, var corners = processors.last as? RoundedCorners, corners.border == nil {
        corners.border = border
        processors[processors.count - 1] = corners
      } else {
        processors.append(processor)
      }
    }
    return processors
  }

  /// Makes a processor of a text: an option's name, a colon and its value, such as `round:8` or `circle`.
  public static func parse(_ text: String) throws(ImageProcessingError) -> any ImageProcessing {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = options.first(where: { $0.name == name }) else {
      let known = options.map(\.name).joined(separator: ", ")
      throw .invalidOption(name, reason: "there is no such processor; there are \(known)")
    }
    return try option.processor(parts.count > 1 ? String(parts[1]) : nil)
  }

  // MARK: Values

  private static func number(
    _ text: String, in range: ClosedRange<Double>, called name: String = ""
  ) throws(Invalid) -> Double {
    guard let number = Double(text), range.contains(number) else {
      throw Invalid(
        reason:
          "\(name)must be a number from \(canonical(range.lowerBound)) to \(canonical(range.upperBound))")
    }
    return number
  }

  private static func numbers(_ text: String, count: Int, as form: String) throws(Invalid) -> [Double] {
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false).compactMap { Double($0) }
    guard numbers.count == count, text.filter({ $0 == "," }).count == count - 1 else {
      throw Invalid(reason: "must be \(form)")
    }
    return numbers
  }

  private static func color(_ text: String) throws(Invalid) -> ColorValue {
    guard let color = ColorValue(css: text) else {
      let names = ColorValue.names.keys.sorted().joined(separator: ", ")
      throw Invalid(reason: "must be a colour: #rgb, #rrggbb, #rrggbbaa or one of \(names)")
    }
    return color
  }

  private static func rounded(_ text: String) throws(Invalid) -> RoundedCorners {
    let form = "a radius from 0 to 100000, or four of them: top left, top right, bottom right, bottom left"
    let radii = try numbers(text, count: text.contains(",") ? 4 : 1, as: form)
    guard radii.allSatisfy({ (0...100_000).contains($0) }) else { throw Invalid(reason: "must be \(form)") }
    return radii.count == 1
      ? RoundedCorners(radius: radii[0])
      : RoundedCorners(topLeft: radii[0], topRight: radii[1], bottomRight: radii[2], bottomLeft: radii[3])
  }

  private static func resize(_ text: String) throws(Invalid) -> Resize {
    var parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    let sides = parts.removeFirst().lowercased().split(separator: "x", omittingEmptySubsequences: false)
    let numbers = sides.compactMap { Int($0) }.filter { (1...65_535).contains($0) }
    guard numbers.count == sides.count, (1...2).contains(numbers.count) else {
      throw Invalid(reason: "must begin with a size from 1 to 65535, as 48 or 96x64")
    }
    var target = TargetSize(width: Double(numbers[0]), height: Double(numbers[numbers.count - 1]))
    var anchor: Resize.Anchor?
    for part in parts {
      switch part {
      case "fit": target.mode = .fit
      case "fill": target.mode = .fill
      case "exact": target.mode = .exact
      case "up": target.allowsUpscaling = true
      default:
        guard let known = Resize.Anchor(rawValue: part) else {
          throw Invalid(
            reason: "after the size there may be fit, fill or exact, up, or one of \(anchors), not \(part)")
        }
        anchor = known
        // An anchor says what stays where something is cropped.
        if !parts.contains("fit"), !parts.contains("exact") { target.mode = .fill }
      }
    }
    return Resize(target, anchor: anchor ?? .center)
  }

  private static func overlay(_ text: String) throws(Invalid) -> Overlay {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    // A file's name may have commas in it.
    let at = parts.indices.dropFirst().last { Overlay.Position(rawValue: parts[$0]) != nil }
    let path = parts[..<(at ?? parts.count)].joined(separator: ",")
    let position = at.flatMap { Overlay.Position(rawValue: parts[$0]) } ?? .bottomRight
    let rest = at.map { parts[($0 + 1)...] } ?? []
    guard rest.count <= 2 else { throw Invalid(reason: "must be FILE, a position, a margin and an opacity") }
    let margin = try rest.first.map { text throws(Invalid) in try number(text, in: -65_535...65_535) } ?? 0
    let opacity = try rest.dropFirst().first.map { text throws(Invalid) in try number(text, in: 0...1) } ?? 1
    do {
      let (data, _) = try LocalSource.file(path).read(key: "", limit: HTTPRequest.defaultMaximumResponseSize)
      let picture = try ImageDecoder().decode(data).bitmap
      return Overlay(picture, position: position, margin: Int(margin), opacity: opacity)
    } catch let error as LocalSourceError {
      // What follows the last comma was most likely meant for a position.
      let positions = Overlay.Position.allCases.map(\.rawValue).joined(separator: ", ")
      let hint = at == nil && parts.count > 1 ? "; there is also no position in it: \(positions)" : ""
      throw Invalid(reason: "\(path): \(error.reason)\(hint)")
    } catch {
      throw Invalid(reason: "\(path): \(error)")
    }
  }

  private static func border(_ text: String) throws(Invalid) -> ImageBorder {
    let parts = text.split(separator: ",", maxSplits: 1)
    guard parts.count == 2 else { throw Invalid(reason: "must be a width and a colour, such as 2,#ffffff") }
    return ImageBorder(
      width: try number(String(parts[0]), in: 0...100_000), color: try color(String(parts[1])))
  }
}
