/// A hash table of objects that know their key: one array, linear probing, no tombstones. Looks a key up by a
/// hash that the caller has worked out already, which is what a dictionary cannot do.
struct HashedTable<Element: AnyObject> {
  private struct Bucket {
    var hash = 0
    var element: Element?
  }

  private var buckets: [Bucket]
  private(set) var count = 0

  init() { buckets = Array(repeating: Bucket(), count: 16) }

  private var mask: Int { buckets.count - 1 }

  /// All elements, in no order.
  var elements: [Element] { buckets.compactMap(\.element) }

  /// The element with a hash that a closure takes for the one, or `nil`.
  @inline(__always)
  func find(_ hash: Int, where matches: (Element) -> Bool) -> Element? {
    var index = Self.spread(hash) & mask
    while let element = buckets[index].element {
      if buckets[index].hash == hash, matches(element) { return element }
      index = (index + 1) & mask
    }
    return nil
  }

  /// Puts an element in, in place of the one that the closure takes for the same; returns that.
  mutating func update(_ element: Element, _ hash: Int, where matches: (Element) -> Bool) -> Element? {
    if (count + 1) * 4 > buckets.count * 3 { grow() }
    var index = Self.spread(hash) & mask
    while let old = buckets[index].element {
      if buckets[index].hash == hash, matches(old) {
        buckets[index].element = element
        return old
      }
      index = (index + 1) & mask
    }
    buckets[index] = Bucket(hash: hash, element: element)
    count += 1
    return nil
  }

  /// Takes out the element with a hash that the closure takes for the one, and returns it.
  mutating func remove(_ hash: Int, where matches: (Element) -> Bool) -> Element? {
    var index = Self.spread(hash) & mask
    while let element = buckets[index].element {
      if buckets[index].hash == hash, matches(element) {
        closeGap(at: index)
        count -= 1
        return element
      }
      index = (index + 1) & mask
    }
    return nil
  }

  /// Moves back what stands after a bucket that becomes empty, so that probing still finds it.
  private mutating func closeGap(at start: Int) {
    var gap = start
    var index = (gap + 1) & mask
    while buckets[index].element != nil {
      let home = Self.spread(buckets[index].hash) & mask
      // Whether the gap lies between the element's home and its place, going round.
      if (index &- home) & mask >= (index &- gap) & mask {
        buckets[gap] = buckets[index]
        gap = index
      }
      index = (index + 1) & mask
    }
    buckets[gap] = Bucket()
  }

  private mutating func grow() {
    let old = buckets
    buckets = Array(repeating: Bucket(), count: old.count * 2)
    for bucket in old where bucket.element != nil {
      var index = Self.spread(bucket.hash) & mask
      while buckets[index].element != nil { index = (index + 1) & mask }
      buckets[index] = bucket
    }
  }

  /// The low bits chose the table already.
  private static func spread(_ hash: Int) -> Int { Int(bitPattern: UInt(bitPattern: hash) >> 8) }
}
