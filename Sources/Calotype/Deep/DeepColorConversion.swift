import CLCMS2
import Foundation

/// Brings colours of 16 bits from an embedded profile's space to Display P3.
///
/// Sound as Sendable for the reason that ``ColorConversion`` is.
final class DeepColorConversion: @unchecked Sendable {
  /// What the colours are in afterwards.
  let target: DeepBitmap.ColorSpace
  private let transform: cmsHTRANSFORM

  /// lcms2's COLORSPACE_SH, CHANNELS_SH, EXTRA_SH and BYTES_SH for RGBA of 16 bits.
  private static let pixelFormat = UInt32(PT_RGB) << 16 | 3 << 3 | 1 << 7 | 2

  init?(profile data: Data, to target: DeepBitmap.ColorSpace) {
    let opened = data.withUnsafeBytes { cmsOpenProfileFromMem($0.baseAddress, UInt32(clamping: $0.count)) }
    guard let profile = opened else { return nil }
    defer { cmsCloseProfile(profile) }
    guard let destination = Self.profile(of: target) else { return nil }
    defer { cmsCloseProfile(destination) }
    guard
      let transform = cmsCreateTransform(
        profile, Self.pixelFormat, destination, Self.pixelFormat, UInt32(INTENT_PERCEPTUAL),
        UInt32(cmsFLAGS_NOCACHE | cmsFLAGS_NOOPTIMIZE))
    else { return nil }
    self.transform = transform
    self.target = target
  }

  deinit { cmsDeleteTransform(transform) }

  /// Converts pixels in place; their alpha is left as it is.
  func apply(_ pixels: UnsafeMutablePointer<SIMD4<UInt16>>, count: Int) {
    cmsDoTransform(transform, pixels, pixels, UInt32(count))
  }

  /// The profile of a space; to be closed by the caller.
  static func profile(of space: DeepBitmap.ColorSpace) -> cmsHPROFILE? {
    guard space == .displayP3 else { return cmsCreate_sRGBProfile() }
    var white = cmsCIExyY(x: 0.3127, y: 0.3290, Y: 1)
    var primaries = cmsCIExyYTRIPLE(
      Red: cmsCIExyY(x: 0.680, y: 0.320, Y: 1), Green: cmsCIExyY(x: 0.265, y: 0.690, Y: 1),
      Blue: cmsCIExyY(x: 0.150, y: 0.060, Y: 1))
    let parameters: [Double] = [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]
    guard let curve = cmsBuildParametricToneCurve(nil, 4, parameters) else { return nil }
    defer { cmsFreeToneCurve(curve) }
    var curves: [OpaquePointer?] = [curve, curve, curve]
    return cmsCreateRGBProfile(&white, &primaries, &curves)
  }

  /// The profile of a space as a file embeds it.
  static func profileData(of space: DeepBitmap.ColorSpace) -> Data? {
    guard let profile = profile(of: space) else { return nil }
    defer { cmsCloseProfile(profile) }
    return data(of: profile)
  }

  /// A profile as a file has it.
  static func data(of profile: cmsHPROFILE) -> Data? {
    var count: UInt32 = 0
    guard cmsSaveProfileToMem(profile, nil, &count) != 0, count > 0 else { return nil }
    var data = Data(count: Int(count))
    let isSaved = data.withUnsafeMutableBytes { cmsSaveProfileToMem(profile, $0.baseAddress, &count) }
    return isSaved != 0 ? data : nil
  }
}
