import Calotype

/// What the program was started with, as far as it can be told before there is a screen.
enum StartOptions {
  /// Something to print, and nothing else to do.
  case text(String)
  /// It was called wrongly.
  case mistake(String)
  /// The program itself is wanted.
  case run

  init(_ arguments: some Sequence<String>) {
    var result = StartOptions.run
    for argument in arguments {
      if argument == "--" { break }
      switch argument {
      case "-h", "--help": result = .text(Self.help)
      case "--version": result = .text("calotype-gallery \(CalotypeVersion.string)")
      case "--offline": continue
      default:
        guard argument.hasPrefix("-"), argument != "-" else { continue }
        result = .mistake("\(Escaping.displaySafe(argument)) is not an option; see calotype-gallery --help")
      }
      break
    }
    self = result
  }

  private static let help = """
    Shows lists of pictures: names and icons that load as one scrolls.

    usage: calotype-gallery [--offline] [FILE | ADDRESS]…

    FILE or ADDRESS is a list: a property list, JSON, JSON Lines, CSV, TSV or a text file of addresses. Where an
    address has {page} in it, or page=NUMBER, it is a service that gives its list page by page. Without one, the
    bundled list is shown. Each list has a window of its own.

      --offline  shows what is stored and asks no server
      --version  prints the version
      --help     prints this

    Settings are kept in $XDG_CONFIG_HOME/calotype/gallery.json, pictures and lists in $XDG_CACHE_HOME/calotype.
    """
}
