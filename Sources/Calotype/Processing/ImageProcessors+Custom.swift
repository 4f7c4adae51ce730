extension ImageProcessors {
  /// A closure as a processor.
  public struct Custom: ImageProcessing {
    /// The closure's name and parameters, as it stands in keys.
    public let identifier: String
    private let body: @Sendable (Bitmap, CancellationFlag) throws -> Bitmap

    /// Creates the processor.
    ///
    /// - Parameters:
    ///   - name: Names the closure and every parameter that changes its result: prints of one address with
    ///     the same name are taken for the same.
    ///   - body: Makes the new picture, off the main thread, from several threads at once.
    public init(
      identifier name: String, _ body: @escaping @Sendable (Bitmap, CancellationFlag) throws -> Bitmap
    ) {
      // A key's own marks are written so that no name can be taken for two processors.
      identifier =
        "custom("
        + name.unicodeScalars.map { scalar in
          switch scalar {
          case "%": "%25"
          case "|": "%7C"
          case "(": "%28"
          case ")": "%29"
          default: String(scalar)
          }
        }.joined() + ")"
      self.body = body
    }

    /// Makes the new picture.
    public func process(_ image: Bitmap, cancellation: CancellationFlag) throws -> Bitmap {
      try body(image, cancellation)
    }
  }
}

extension ImageProcessing where Self == ImageProcessors.Custom {
  /// A closure as a processor.
  ///
  /// - Parameters:
  ///   - identifier: Names the closure and every parameter that changes its result.
  ///   - body: Makes the new picture.
  public static func custom(
    identifier: String, _ body: @escaping @Sendable (Bitmap, CancellationFlag) throws -> Bitmap
  ) -> Self {
    Self(identifier: identifier, body)
  }
}
