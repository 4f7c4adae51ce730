/// A list that mostly has one element, for which it takes no memory of its own.
struct ShortList<Element> {
  fileprivate enum Storage {
    case none
    case one(Element)
    case several([Element])
  }

  private var storage = Storage.none

  init() {}

  init(_ element: Element) { storage = .one(element) }

  mutating func append(_ element: Element) {
    switch storage {
    case .none: storage = .one(element)
    case .one(let first): storage = .several([first, element])
    case .several(var elements):
      // So that the array has one owner and grows in its place.
      storage = .none
      elements.append(element)
      storage = .several(elements)
    }
  }

  mutating func removeAll(where isUnwanted: (Element) -> Bool) {
    switch storage {
    case .none: break
    case .one(let element): if isUnwanted(element) { storage = .none }
    case .several(var elements):
      storage = .none
      elements.removeAll(where: isUnwanted)
      storage = elements.isEmpty ? .none : .several(elements)
    }
  }

  mutating func remove(at index: Int) {
    switch storage {
    case .none: preconditionFailure("an empty list has nothing to remove")
    case .one: storage = .none
    case .several(var elements):
      storage = .none
      elements.remove(at: index)
      storage = elements.isEmpty ? .none : .several(elements)
    }
  }
}

extension ShortList: RandomAccessCollection {
  var startIndex: Int { 0 }

  var endIndex: Int {
    switch storage {
    case .none: 0
    case .one: 1
    case .several(let elements): elements.count
    }
  }

  subscript(index: Int) -> Element {
    switch storage {
    case .one(let element) where index == 0: return element
    case .several(let elements): return elements[index]
    case .none, .one: preconditionFailure("there is no element \(index) in the list")
    }
  }
}

extension ShortList: Sendable where Element: Sendable {}
extension ShortList.Storage: Sendable where Element: Sendable {}
