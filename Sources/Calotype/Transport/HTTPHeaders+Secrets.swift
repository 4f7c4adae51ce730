extension HTTPHeaders {
  /// The names, in lower case, of the fields that may hold a secret: all but those that say what a client
  /// would like to have, or what its body is. A redirect does not take them to another origin.
  package var namesOfPossibleSecrets: Set<String> {
    Set(fields.map { $0.name.lowercased() }.filter(Self.mayBeSecret))
  }

  /// Whether a field, by its name in lower case, may hold a secret.
  static func mayBeSecret(_ name: String) -> Bool { !namesWithoutSecrets.contains(name) }

  private static let namesWithoutSecrets: Set<String> = [
    "accept", "accept-encoding", "accept-language", "cache-control", "content-encoding", "content-language",
    "content-type", "if-modified-since", "if-none-match", "if-range", "pragma", "range", "user-agent",
  ]
}
