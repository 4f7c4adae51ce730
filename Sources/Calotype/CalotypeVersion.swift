/// This package's version.
public enum CalotypeVersion {
  /// The version as a text, by semantic versioning.
  public static let string = "0.1.0"
}
