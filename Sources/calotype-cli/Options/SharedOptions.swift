import Calotype
import Foundation

/// Options that several commands have.
enum SharedOptions {
  static let picture = OptionGroup(
    title: "Picture",
    options: [
      Option("size", "s", "N|WxH", "Bring each picture to this size in pixels; its own size by default"),
      Option(
        "mode", "m", "MODE", TargetSize.Mode.self,
        "How another shape is brought to the size: fit inside it (default), fill it and crop to the middle, or exact, which distorts"
      ),
      Option("upscale", help: "Enlarge pictures that are smaller than the size"),
      Option(
        "anchor", nil, "ANCHOR", ImageProcessors.Resize.Anchor.self,
        "What stays where --mode fill crops: center by default; attention is where most edges and colours are"
      ),
      Option(
        "deep",
        help:
          "Keep more than 8 bits a channel and colours outside of sRGB, where the picture has them, in PNG and AVIF"
      ),
      Option(
        "still",
        help:
          "Write only the first frame of an animation; else WebP, PNG and AVIF keep all, and a GIF becomes a WebP"
      ),
      Option(
        "format", "f", "FORMAT", PictureOutput.Format.self,
        "The format to write; by default the picture's own, or PNG where that cannot be written. original writes the bytes as they were downloaded"
      ),
      Option("quality", "q", "N", "1 (smallest) to 100 (best) for jpeg, webp and avif; 85 by default"),
      Option("lossless", help: "Keep every pixel as it is in webp and avif"),
      Option(
        "keep-profile",
        help: "Keep a picture's own colours and their profile; sRGB by default. Needs --isolation in-process"),
      Option("progressive", help: "Write jpeg in scans, each finer than the one before"),
      Option(
        "chroma", nil, "RESOLUTION", ImageEncodingOptions.Chroma.self,
        "How much of the colours' resolution jpeg and avif keep; auto, the default, is full from a quality of 90"
      ),
      Option(
        "effort", nil, "EFFORT", ImageEncodingOptions.Effort.self,
        "What is given for a smaller file; balanced by default"),
    ])

  /// Every processor is an option; they are applied in the order that they are given in.
  static var processors: OptionGroup {
    OptionGroup(
      title: "Processors, applied in the order given",
      options: ImageProcessors.options.map { Option($0.name, nil, $0.argument, $0.summary) })
  }

  static let cache = OptionGroup(
    title: "Cache",
    options: [
      Option(
        "cache-dir", nil, "DIR", isPath: true, "The cache's folder; $XDG_CACHE_HOME/calotype by default"),
      Option(
        "cache-mode", nil, "MODE", ImageRequest.CachePolicy.self,
        "How the cache is used, with the meaning that the Fetch standard gives the names"),
      Option("no-cache", help: "Use no cache on disk at all"),
    ])

  static let network = OptionGroup(
    title: "Network",
    options: [
      Option("concurrency", "c", "N", "Downloads at once, 16 by default"),
      Option("per-host", nil, "N", "Downloads at once from one host, 6 by default"),
      Option(
        "retries", nil, "N",
        "How often a download that fails for a passing reason is tried again, 3 by default"),
      Option("timeout", nil, "SECONDS", "The most time for one download, 300 by default"),
      Option("header", "H", "'NAME: VALUE'", "A header to send; may be given several times"),
    ])

  static let addresses = OptionGroup(
    title: "Addresses from strangers",
    options: [
      Option(
        "untrusted",
        help:
          "Reach public addresses only, on ports 80 and 443, and heed no proxy of the environment: nobody vouches for the addresses. Without it, what is named is fetched wherever it is, but no redirect from a public address to a private one is followed"
      ),
      Option("ports", nil, "N,N", "The ports that --untrusted allows, in place of 80 and 443"),
      Option(
        "allow-network", nil, "NETWORK",
        "A network that counts as public, such as 10.1.0.0/16; may be given several times"),
    ])

  static let safety = OptionGroup(
    title: "Safety",
    options: [
      Option(
        "isolation", nil, "MODE", DecodingIsolation.self,
        "Where pictures are decoded: when-available (default) in a sandboxed process, or in this one with a warning where the system has no sandbox; required never in this one; in-process always"
      )
    ])

  static let list = OptionGroup(
    title: "List",
    options: [
      Option("items", nil, "KEYPATH", "Where the rows are in a property list or JSON, such as data.list"),
      Option("name-key", nil, "KEY", "The field with the name; found by its usual names by default"),
      Option("image-key", nil, "KEY", "The field with the picture's address"),
      Option("subtitle-key", nil, "KEY", "The field with the second line"),
      Option(
        "list-format", nil, "FORMAT", ImageListFormat.self,
        "The lists' format; told by their content by default"),
      Option("base-url", nil, "URL", "What relative addresses in the list are resolved against"),
      Option(
        "page-url", nil, "URL",
        "A list in pages: an address with {page} in it, gone through until a page is empty"),
      Option("first-page", nil, "N", "The first page's number, 1 by default"),
      Option("last-page", nil, "N", "The last page to ask for"),
    ])
}

extension Arguments {
  /// `--size`, `--mode` and `--upscale`.
  func targetSize() throws -> TargetSize? {
    let mode = try choice("mode", TargetSize.Mode.self) ?? .fit
    if try choice("anchor", ImageProcessors.Resize.Anchor.self) != nil, mode != .fill {
      throw UsageError("--anchor needs --mode fill, which crops")
    }
    guard let text = self["size"] else {
      if has("mode") || has("upscale") { throw UsageError("--mode and --upscale need a --size") }
      return nil
    }
    let sides = text.lowercased().replacing("×", with: "x").split(
      separator: "x", omittingEmptySubsequences: false)
    let numbers = sides.compactMap { Int($0) }.filter { (1...65_535).contains($0) }
    guard numbers.count == sides.count, let width = numbers.first, let height = numbers.last,
      numbers.count <= 2
    else {
      throw UsageError("--size takes a number of pixels, 1 to 65535, or two as in 96x64, not \(text)")
    }
    return TargetSize(
      width: Double(width), height: Double(height), mode: mode, allowsUpscaling: has("upscale"))
  }

  /// `--anchor`; `nil` for the middle, which needs nothing of its own.
  func anchor() throws -> ImageProcessors.Resize.Anchor? {
    let anchor = try choice("anchor", ImageProcessors.Resize.Anchor.self)
    return anchor == .center ? nil : anchor
  }

  /// `--lossless`, `--progressive`, `--chroma` and `--effort`, for a quality; the format is for the caller to set.
  func encodingOptions(quality: Int) throws -> ImageEncodingOptions {
    var options = ImageEncodingOptions(
      format: .png, quality: quality, isLossless: has("lossless"), isProgressive: has("progressive"))
    options.chroma = try choice("chroma") ?? .automatic
    options.effort = try choice("effort") ?? .balanced
    return options
  }

  /// Whether anything is asked for that only a picture written anew can have.
  var asksForEncoding: Bool {
    ["quality", "lossless", "progressive", "chroma", "effort", "keep-profile"].contains { has($0) }
  }

  /// `--header`.
  func headers() throws -> HTTPHeaders {
    var headers = HTTPHeaders()
    for text in values("header") {
      guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else {
        throw UsageError("--header takes 'Name: value', not \(text)")
      }
      let name = text[..<colon], value = text[text.index(after: colon)...]
      guard name.unicodeScalars.allSatisfy({ (0x21...0x7E).contains($0.value) }) else {
        throw UsageError("a header's name has no spaces and no accents in it: \(name)")
      }
      guard !value.unicodeScalars.contains(where: { $0 == "\r" || $0 == "\n" }) else {
        throw UsageError("the header \(name) has a line break in its value, which would be another header")
      }
      headers.append(name: String(name), value: value.trimmingCharacters(in: .whitespaces))
    }
    return headers
  }

  /// `--untrusted`, `--ports` and `--allow-network`.
  func addressPolicy() throws -> AddressPolicy {
    var policy = has("untrusted") ? AddressPolicy.untrusted : .default
    if let text = self["ports"] {
      let parts = text.split(separator: ",", omittingEmptySubsequences: false)
      let ports = parts.compactMap { Int($0) }.filter { (1...65_535).contains($0) }
      guard ports.count == parts.count else {
        throw UsageError("--ports takes numbers from 1 to 65535 with commas between them, not \(text)")
      }
      guard has("untrusted") else { throw UsageError("--ports needs --untrusted") }
      policy.ports = Set(ports)
    }
    for text in values("allow-network") {
      guard let network = AddressPolicy.Network(text) else {
        throw UsageError("--allow-network takes a network such as 10.1.0.0/16 or fd00::/8, not \(text)")
      }
      policy.allowedNetworks.append(network)
    }
    return policy
  }

  /// `--isolation`.
  func isolation() throws -> DecodingIsolation {
    // A build with a sanitizer, which nobody but a developer has, could not do otherwise anyway.
    try choice("isolation") ?? (DecodingWorkerProcess.hasSanitizer ? .inProcess : .whenAvailable)
  }

  /// `--cache-mode`.
  func cachePolicy() throws -> ImageRequest.CachePolicy {
    try choice("cache-mode") ?? .default
  }

  /// What the options of the list group say.
  func listOptions() throws -> ImageListOptions {
    var options = ImageListOptions(
      itemsKeyPath: self["items"], titleKey: self["name-key"], subtitleKey: self["subtitle-key"],
      imageKey: self["image-key"])
    options.format = try choice("list-format")
    if let text = self["base-url"] {
      guard let url = URL(string: text), url.scheme != nil else {
        throw UsageError("--base-url takes an absolute address, not \(Escaping.address(text))")
      }
      options.baseURL = url
    }
    return options
  }

  /// Whether an operand is an address rather than a file.
  static func isAddress(_ text: String) -> Bool {
    let text = text.prefix(8).lowercased()
    return text.hasPrefix("http://") || text.hasPrefix("https://")
  }

  /// An address that a person typed.
  static func address(_ text: String) throws -> URL {
    guard isAddress(text), let url = URL(string: text), url.host?.isEmpty == false else {
      throw UsageError("\(Escaping.address(text)) is not an address: http://… or https://…")
    }
    return url
  }
}
