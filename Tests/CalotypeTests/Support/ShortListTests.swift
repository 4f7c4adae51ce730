import Testing

@testable import Calotype

/// A list that keeps a single element without an array behaves as an array does.
struct ShortListTests {
  @Test func itGrowsAndShrinksLikeAnArray() {
    var list = ShortList<Int>()
    var array: [Int] = []
    #expect(list.isEmpty && list.first == nil && list.max() == nil)
    for number in [3, 1, 4, 1, 5] {
      list.append(number)
      array.append(number)
      #expect(Array(list) == array && list.count == array.count)
    }
    list.remove(at: 2)
    array.remove(at: 2)
    #expect(Array(list) == array && list.firstIndex(of: 5) == 3)
    list.removeAll { $0 == 1 }
    #expect(Array(list) == [3, 5] && Array(list.dropFirst()) == [5])
    list.removeAll { $0 == 3 }
    list.remove(at: 0)
    #expect(list.isEmpty)
    list.append(7)
    list.removeAll { $0 == 7 }
    #expect(list.isEmpty)
  }

  @Test func aCopyKeepsWhatItHad() {
    var list = ShortList(1)
    let one = list
    list.append(2)
    let two = list
    list.append(3)
    list.remove(at: 0)
    #expect(Array(one) == [1] && Array(two) == [1, 2] && Array(list) == [2, 3])
  }
}
