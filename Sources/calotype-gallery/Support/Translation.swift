import CGtk
import CalotypeGTK
import Foundation

/// The program's texts in the user's language, with gettext. The English text is the key.
enum Translation {
  private static let domain = "calotype-gallery"

  /// Finds the catalogue for the user's language. Call it before anything is shown.
  @MainActor
  static func start() {
    setlocale(LC_ALL, "")
    if let folder = ProgramFiles.folder("locale") {
      bindtextdomain(domain, folder)
      bind_textdomain_codeset(domain, "UTF-8")
    }
    var texts = WidgetTexts()
    texts.loading = tr("Loading")
    texts.failed = tr("Could not be loaded")
    texts.tryAgain = tr("Try again")
    texts.cancel = tr("Cancel")
    WidgetTexts.current = texts
  }

  // What has no translation comes back as the pointer that was handed in, which must still be good then.

  fileprivate static func text(_ key: String) -> String {
    guard !key.isEmpty else { return key }
    return key.withCString { String(cString: dgettext(domain, $0)) }
  }

  fileprivate static func text(_ one: String, _ many: String, _ count: Int) -> String {
    one.withCString { one in
      many.withCString { many in String(cString: dngettext(domain, one, many, UInt(max(0, count)))) }
    }
  }

  fileprivate static func fill(_ text: String, _ values: KeyValuePairs<String, String>) -> String {
    // One pass: what a value says in braces is not a place for another value.
    var result = "", rest = text[...]
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      let name = rest[rest.index(after: open)..<close]
      result += rest[..<open]
      result += values.first { $0.key == name }?.value ?? String(rest[open...close])
      rest = rest[rest.index(after: close)...]
    }
    return result + rest
  }
}

/// A text in the user's language.
func tr(_ text: String) -> String { Translation.text(text) }

/// A text in the user's language, with values in the places that it has for them: `{name}`.
func tr(_ text: String, _ values: KeyValuePairs<String, String>) -> String {
  Translation.fill(Translation.text(text), values)
}

/// A text for a number of things, with the number in the place of `{count}`.
func tr(one: String, many: String, _ count: Int, _ values: KeyValuePairs<String, String> = [:]) -> String {
  let text = Translation.fill(Translation.text(one, many, count), ["count": count.formatted()])
  return values.isEmpty ? text : Translation.fill(text, values)
}
