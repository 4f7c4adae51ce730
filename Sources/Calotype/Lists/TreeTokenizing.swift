/// Reads a tree of arrays and dictionaries, piece by piece, without recursion and without keeping it.
protocol TreeTokenizing: AnyObject {
  /// The next piece; `nil` once the tree has ended and nothing wrong follows it.
  func next() throws(ImageListError) -> TreeToken?
  /// Passes over what is left of the innermost array or dictionary, with its end.
  func skipContainer() throws(ImageListError)
  /// Reads the rest of the tree for what is wrong with it, where that costs no more than the bytes it has.
  func finish() throws(ImageListError)
  /// Where the reader is.
  var place: ImageListPlace { get }
  /// Whether the next piece can be had without waiting.
  var isReady: Bool { get }
  /// What the format is called in messages.
  var formatName: String { get }
}

/// A piece of a tree. A dictionary gives a key before each of its values.
enum TreeToken: Equatable {
  case beginArray, endArray
  case beginDictionary, endDictionary
  case key(String)
  /// Text, a number as it is written, a Boolean, a date.
  case scalar(String)
  /// Null, or bytes: nothing that a list can use.
  case nothing
  /// A value that was passed over, and why: it is over the limit, or not UTF-8.
  case unusable(String)
}

extension TreeTokenizing {
  func finish() throws(ImageListError) {
    while try next() != nil {}
  }
}
