import CLCMS2
import CXXHash
import Foundation
import Synchronization

/// Brings colours from an embedded profile's space to sRGB.
///
/// Sound as Sendable: the transform is never changed after it is made, and is made without lcms2's own
/// one-pixel cache, so that any number of threads may use it at once.
final class ColorConversion: @unchecked Sendable {
  /// What a picture's channels are.
  enum Source: UInt8, Hashable, Sendable {
    /// Red, green, blue in RGBA pixels.
    case rgb
    /// Grey, repeated in the red, green and blue of RGBA pixels.
    case gray
    /// Cyan, magenta, yellow, black: 255 is full ink.
    case cmyk
    /// The same inverted, as Adobe's programs store it: 0 is full ink.
    case invertedCMYK
  }

  private let transform: cmsHTRANSFORM
  /// The profile of a picture of red, green and blue, for ``deepConversion``.
  private let profileData: Data?
  private let madeDeepConversion = Lock<DeepColorConversion?>(nil)

  private init(transform: cmsHTRANSFORM, profileData: Data?) {
    self.transform = transform
    self.profileData = profileData
  }

  /// The same colours at 16 bits and in a wider space than sRGB; `nil` where the picture is not of red, green and
  /// blue. Made when it is asked for: few are.
  var deepConversion: DeepColorConversion? {
    guard let profileData else { return nil }
    return madeDeepConversion.withLock { made in
      if made == nil { made = DeepColorConversion(profile: profileData, to: .displayP3) }
      return made
    }
  }

  deinit { cmsDeleteTransform(transform) }

  /// Converts a finished print in place.
  func apply(to bitmap: Bitmap, cancellation: CancellationFlag) throws(ImageDecodingError) {
    guard let base = bitmap.storage.buffer.baseAddress else { return }
    for row in 0..<bitmap.height {
      if row & 15 == 0, cancellation.isCancelled { throw .cancelled }
      let pixels = (base + row * bitmap.bytesPerRow).assumingMemoryBound(to: UInt32.self)
      if !bitmap.isOpaque { Premultiplication.unpremultiply(pixels, count: bitmap.width) }
      cmsDoTransform(transform, pixels, pixels, UInt32(bitmap.width))
      if !bitmap.isOpaque { _ = Premultiplication.premultiply(pixels, count: bitmap.width) }
    }
  }

  /// Converts pixels of four channels in place to RGBA, whose alpha is left to the caller.
  func convert(_ pixels: UnsafeMutableRawPointer, count: Int) {
    cmsDoTransform(transform, pixels, pixels, UInt32(count))
  }

  /// Makes the conversion for a profile.
  ///
  /// - Returns: `nil` where there is nothing to convert: the profile is sRGB or very near it, does not fit
  ///   the channels, or is damaged. A picture with a bad profile is shown as if it had none, as browsers do.
  static func make(profile bytes: ByteView, source: Source) -> ColorConversion? {
    guard fits(bytes, source),
      let profile = cmsOpenProfileFromMem(bytes.bytes.baseAddress, UInt32(clamping: bytes.count))
    else { return nil }
    defer { cmsCloseProfile(profile) }
    return make(profile: profile, source: source)
  }

  /// Makes the conversion for primaries and a curve that a file names by number (ITU-T H.273).
  ///
  /// - Parameters:
  ///   - primaries: The chromaticities x and y of red, green, blue and white.
  ///   - gamma: The curve's exponent, or `nil` for sRGB's.
  static func make(primaries: [Float], gamma: Double?) -> ColorConversion? {
    guard primaries.count == 8 else { return nil }
    func point(_ index: Int) -> cmsCIExyY {
      cmsCIExyY(x: Double(primaries[index * 2]), y: Double(primaries[index * 2 + 1]), Y: 1)
    }
    // IEC 61966-2-1 as lcms2's parametric curve of type 4.
    let curve =
      gamma.map { cmsBuildGamma(nil, $0) }
      ?? cmsBuildParametricToneCurve(nil, 4, [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045])
    guard let curve else { return nil }
    defer { cmsFreeToneCurve(curve) }
    var white = point(3)
    var triple = cmsCIExyYTRIPLE(Red: point(0), Green: point(1), Blue: point(2))
    var curves: [OpaquePointer?] = [curve, curve, curve]
    guard let profile = cmsCreateRGBProfile(&white, &triple, &curves) else { return nil }
    defer { cmsCloseProfile(profile) }
    return make(profile: profile, source: .rgb)
  }

  private static func make(profile: cmsHPROFILE, source: Source) -> ColorConversion? {
    guard let target = cmsCreate_sRGBProfile() else { return nil }
    defer { cmsCloseProfile(target) }
    guard
      let transform = cmsCreateTransform(
        profile, pixelFormat(source), target, PixelFormat.rgba, UInt32(INTENT_PERCEPTUAL),
        UInt32(cmsFLAGS_NOCACHE))
    else { return nil }
    let data = source == .rgb ? DeepColorConversion.data(of: profile) : nil
    let conversion = ColorConversion(transform: transform, profileData: data)
    switch source {
    case .rgb, .gray: return conversion.changesColors(isGray: source == .gray) ? conversion : nil
    case .cmyk, .invertedCMYK: return conversion
    }
  }

  /// Whether a profile is for the channels at hand (ICC.1:2022, 7.2.8).
  private static func fits(_ profile: ByteView, _ source: Source) -> Bool {
    switch source {
    case .rgb: profile.matches("RGB ", at: 16)
    case .gray: profile.matches("GRAY", at: 16)
    case .cmyk, .invertedCMYK: profile.matches("CMYK", at: 16)
    }
  }

  /// Whether any colour comes out different enough to be seen: a profile that only calls itself sRGB is
  /// converted, and one that is sRGB under any name is not.
  private func changesColors(isGray: Bool) -> Bool {
    var probes: [UInt8] = []
    let levels: [UInt8] = [0, 16, 48, 96, 144, 192, 224, 255]
    for red in levels {
      if isGray {
        probes += [red, red, red, 255]
      } else {
        for green in levels { for blue in levels { probes += [red, green, blue, 255] } }
      }
    }
    var converted = probes
    converted.withUnsafeMutableBytes { bytes in
      if let base = bytes.baseAddress { convert(base, count: bytes.count / 4) }
    }
    return zip(probes, converted).contains { abs(Int($0) - Int($1)) > 2 }
  }

  private enum PixelFormat {
    static func make(space: Int32, channels: UInt32, extra: UInt32, isInverted: Bool = false) -> UInt32 {
      // lcms2's COLORSPACE_SH, CHANNELS_SH, EXTRA_SH, FLAVOR_SH and BYTES_SH, which are function-like macros.
      UInt32(space) << 16 | channels << 3 | extra << 7 | (isInverted ? 1 << 13 : 0) | 1
    }
    static let rgba = make(space: PT_RGB, channels: 3, extra: 1)
  }

  private static func pixelFormat(_ source: Source) -> UInt32 {
    switch source {
    case .rgb: PixelFormat.rgba
    case .gray: PixelFormat.make(space: PT_GRAY, channels: 1, extra: 3)
    case .cmyk: PixelFormat.make(space: PT_CMYK, channels: 4, extra: 0)
    case .invertedCMYK: PixelFormat.make(space: PT_CMYK, channels: 4, extra: 0, isInverted: true)
    }
  }
}

/// The conversions made so far, by the content of their profiles: making one takes far longer than using it
/// on an icon, and most pictures of a list share a profile.
final class ColorConversionCache: Sendable {
  private struct Key: Hashable {
    var low: UInt64, high: UInt64
    var count: Int
    var source: ColorConversion.Source
  }

  private let entries = Mutex<[Key: ColorConversion?]>([:])
  private let maximumCount = 32
  private let keepsProfiles: Bool
  private let kept = Lock<Data?>(nil)

  /// - Parameter keepsProfiles: Whether pixels of red, green and blue stay as they are; for one decode.
  init(keepsProfiles: Bool = false) { self.keepsProfiles = keepsProfiles }

  /// The profile of the pixels that have stayed as they are.
  var keptProfile: Data? { kept.withLock { $0 } }

  /// So that nobody can make a profile with the hash of another.
  private static let seed = UInt64.random(in: .min ... .max)

  /// The conversion for a profile, or `nil` where its colours are sRGB already.
  func conversion(for profile: ByteView?, source: ColorConversion.Source) -> ColorConversion? {
    guard let profile, profile.count >= 128 else { return nil }
    if keepsProfiles, source == .rgb, profile.matches("RGB ", at: 16) {
      kept.withLock { $0 = Data(profile.bytes) }
      return nil
    }
    let hash = XXH3_128bits_withSeed(profile.bytes.baseAddress, profile.count, Self.seed)
    let key = Key(low: hash.low64, high: hash.high64, count: profile.count, source: source)
    return entry(key) { ColorConversion.make(profile: profile, source: source) }
  }

  /// The conversion for primaries and a curve that a file names by number.
  func conversion(
    primariesNumber: Int, primaries: [Float], gamma: Double?
  ) -> ColorConversion? {
    let key = Key(
      low: UInt64(clamping: primariesNumber), high: (gamma ?? 0).bitPattern, count: -1, source: .rgb)
    return entry(key) { ColorConversion.make(primaries: primaries, gamma: gamma) }
  }

  private func entry(_ key: Key, _ make: () -> ColorConversion?) -> ColorConversion? {
    if let known = entries.withLock({ $0[key] }) { return known }
    // Made outside of the lock: two threads may both make it, and either will do.
    let made = make()
    entries.withLock { entries in
      if entries.count >= maximumCount { entries.removeAll() }
      entries[key] = .some(made)
    }
    return made
  }
}

/// Reads the name that an embedded profile gives itself.
enum ColorProfile {
  static func description(of bytes: ByteView) -> String? {
    guard let profile = cmsOpenProfileFromMem(bytes.bytes.baseAddress, UInt32(clamping: bytes.count)) else {
      return nil
    }
    defer { cmsCloseProfile(profile) }
    var text = [CChar](repeating: 0, count: 256)
    let length = cmsGetProfileInfoASCII(profile, cmsInfoDescription, "en", "US", &text, UInt32(text.count))
    guard length > 1 else { return nil }
    let name = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: name, as: UTF8.self)
  }
}
