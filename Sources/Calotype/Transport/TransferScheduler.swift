/// In which order waiting transfers of one priority start.
public enum TransferOrder: String, Hashable, Sendable, CaseIterable {
  /// First come, first served.
  case oldestFirst = "oldest-first"
  /// The last asked for goes first: what a list that scrolls wants, since the newest rows are the visible.
  case newestFirst = "newest-first"
}

/// Decides which waiting transfer starts next. It does no I/O, starts no threads and reads no clock: the
/// caller passes the time in, asks ``next(now:)`` until there is none, and says when one has ended.
///
/// The most urgent goes first; equals go by ``TransferOrder``. Each host has a queue and places of its own,
/// so a slow host holds only its own places. So that nobody waits for ever, one start in eight goes to
/// whoever has waited longest, once that is longer than ``Limits/agingInterval``.
///
/// What is only prefetched (``ImageRequest/Priority/veryLow``) takes no place from anything else: it starts
/// within the limits, all that runs counted, but what is more urgent does not count it.
///
/// Every operation costs O(log n) amortised. Heaps are cleaned lazily: an entry that no longer matches its
/// item is dropped when it comes up, and a heap that is mostly such entries is rebuilt.
struct TransferScheduler<Ticket> {
  /// A point or a length of time in nanoseconds of a monotonic clock.
  typealias Nanoseconds = UInt64

  /// What the scheduler keeps to.
  struct Limits: Hashable, Sendable {
    /// The most that run at once, what is only prefetched not counted.
    var maximumConcurrent = 16
    /// The most that run at once for one host, what is only prefetched not counted.
    var maximumPerHost = 6
    /// The order among equals.
    var order = TransferOrder.oldestFirst
    /// The least time between two starts for one host; 0 for no limit.
    var minimumStartInterval: Nanoseconds = 0
    /// How long one may be passed over by more urgent ones before it gets a share of the starts.
    var agingInterval: Nanoseconds = 10_000_000_000
  }

  /// Names an item from its enqueueing until it has ended. A name is never used twice, so an old one is
  /// harmless.
  struct Slot: Hashable, Sendable {
    fileprivate var index: Int32
    fileprivate var generation: UInt32
  }

  fileprivate enum State { case free, pending, running }

  fileprivate struct Item {
    var ticket: Ticket?
    var state = State.free
    var generation: UInt32 = 0
    var host: Int32 = 0
    var sequence: UInt64 = 0
    var orderKey: UInt64 = 0
    var enqueuedAt: Nanoseconds = 0
  }

  private struct Host {
    var name = ""
    var byOrder = KeyedHeap()
    var byAge = KeyedHeap()
    var pending = 0
    var running = 0
    /// How many of those that run are only prefetched.
    var prefetching = 0
    /// Whether its next start has to wait, by the limit of starts.
    var isDelayed = false
    /// What stands for it in the heaps of ready hosts, so that nothing stands there twice.
    var advertisedOrderKey: UInt64?
    var advertisedAgeKey: UInt64?
  }

  let limits: Limits
  /// While suspended nothing starts; what runs is not touched.
  var isSuspended = false
  /// How many wait.
  private(set) var pendingCount = 0
  /// How many run.
  private(set) var runningCount = 0
  private var prefetchingCount = 0

  private var items = ContiguousArray<Item>()
  private var freeItems: [Int32] = []
  private var hosts = ContiguousArray<Host>()
  private var freeHosts: [Int32] = []
  private var hostsByName: [String: Int32] = [:]
  private var readyByOrder = KeyedHeap()
  private var readyByAge = KeyedHeap()
  private var delayed = KeyedHeap()
  private var sequence: UInt64 = 0
  private var startsSinceAged = 0

  init(limits: Limits = .init()) { self.limits = limits }

  /// Whether nothing waits and nothing runs.
  var isEmpty: Bool { pendingCount == 0 && runningCount == 0 }

  /// When ``next(now:)`` is to be asked again though nothing ends or is added before; `nil` where only
  /// such an event can help.
  var nextStartTime: Nanoseconds? {
    guard !isSuspended, pendingCount > 0, hasPlace else { return nil }
    return delayed.first?.key
  }

  /// Adds an item that waits.
  mutating func enqueue(
    _ ticket: Ticket, host name: String, priority: ImageRequest.Priority, now: Nanoseconds
  ) -> Slot {
    let host = hostIndex(name)
    let index: Int32
    if let free = freeItems.popLast() {
      index = free
    } else {
      index = Int32(items.count)
      items.append(Item())
    }
    sequence += 1
    let key = orderKey(priority, sequence)
    items[Int(index)].ticket = ticket
    items[Int(index)].state = .pending
    items[Int(index)].host = host
    items[Int(index)].sequence = sequence
    items[Int(index)].orderKey = key
    items[Int(index)].enqueuedAt = now
    pendingCount += 1
    hosts[Int(host)].pending += 1
    hosts[Int(host)].byOrder.push(key: key, index: index)
    hosts[Int(host)].byAge.push(key: sequence, index: index)
    advertise(host)
    return Slot(index: index, generation: items[Int(index)].generation)
  }

  /// Takes the item that is to start now, which then counts as running; `nil` where none may.
  mutating func next(now: Nanoseconds) -> (ticket: Ticket, slot: Slot)? {
    guard !isSuspended, pendingCount > 0, hasPlace else { return nil }
    releaseDelayed(now: now)
    if startsSinceAged >= 7, let aged = oldestReady(), waited(aged, now: now) >= limits.agingInterval,
      mayRun(items[Int(aged)])
    {
      startsSinceAged = 0
      return start(aged, now: now)
    }
    while let entry = readyByOrder.first {
      let host = entry.index
      guard hosts[Int(host)].advertisedOrderKey == entry.key else {
        readyByOrder.removeFirst()
        continue
      }
      // Prefetches come last: where the first is one that has no place, nothing else waits for one.
      if Self.isPrefetch(entry.key), runningCount >= limits.maximumConcurrent { return nil }
      readyByOrder.removeFirst()
      hosts[Int(host)].advertisedOrderKey = nil
      guard isReady(host), let item = firstByOrder(host) else { continue }
      if items[Int(item)].orderKey == entry.key {
        startsSinceAged += 1
        return start(item, now: now)
      }
      advertise(host)
    }
    return nil
  }

  /// Frees the place of an item that ran. Of no effect on one that waits or has ended.
  mutating func finish(_ slot: Slot) {
    guard state(of: slot) == .running else { return }
    let host = items[Int(slot.index)].host
    count(items[Int(slot.index)], -1)
    release(slot.index)
    if !discardIfIdle(host) { advertise(host) }
  }

  /// Takes out an item that waits; `nil` where it runs or has ended.
  mutating func remove(_ slot: Slot) -> Ticket? {
    guard state(of: slot) == .pending else { return nil }
    let host = items[Int(slot.index)].host
    let ticket = items[Int(slot.index)].ticket
    release(slot.index)
    pendingCount -= 1
    hosts[Int(host)].pending -= 1
    if !discardIfIdle(host) {
      compact(host)
      advertise(host)
    }
    return ticket
  }

  /// Changes the priority of an item; among its new equals one that waits keeps its age. Of one that runs it
  /// matters only whether anyone wants more than to prefetch it.
  mutating func setPriority(_ slot: Slot, to priority: ImageRequest.Priority) {
    guard let state = state(of: slot), state != .free else { return }
    let host = items[Int(slot.index)].host
    let key = orderKey(priority, items[Int(slot.index)].sequence)
    guard items[Int(slot.index)].orderKey != key else { return }
    if state == .running {
      count(items[Int(slot.index)], -1)
      items[Int(slot.index)].orderKey = key
      count(items[Int(slot.index)], 1)
      return advertise(host)
    }
    items[Int(slot.index)].orderKey = key
    hosts[Int(host)].byOrder.push(key: key, index: slot.index)
    compact(host)
    advertise(host)
  }

  /// Lets an item that runs wait again, with the age that it has.
  mutating func putBack(_ slot: Slot, _ ticket: Ticket) {
    guard state(of: slot) == .running else { return }
    let at = Int(slot.index), host = items[at].host
    count(items[at], -1)
    items[at].state = .pending
    items[at].ticket = ticket
    pendingCount += 1
    hosts[Int(host)].pending += 1
    hosts[Int(host)].byOrder.push(key: items[at].orderKey, index: slot.index)
    hosts[Int(host)].byAge.push(key: items[at].sequence, index: slot.index)
    advertise(host)
  }

  // MARK: Items

  /// Smaller goes first: the priority above, the age, or youth, below.
  private func orderKey(_ priority: ImageRequest.Priority, _ sequence: UInt64) -> UInt64 {
    let mask: UInt64 = (1 << 60) - 1
    let rank = UInt64(Int(ImageRequest.Priority.veryHigh.rawValue) - Int(priority.rawValue))
    return rank << 60 | (limits.order == .oldestFirst ? sequence : mask - sequence)
  }

  private static func isPrefetch(_ orderKey: UInt64) -> Bool {
    orderKey >> 60 == UInt64(ImageRequest.Priority.allCases.count - 1)
  }

  /// Counts an item among those that run, or no more.
  private mutating func count(_ item: Item, _ change: Int) {
    runningCount += change
    hosts[Int(item.host)].running += change
    guard Self.isPrefetch(item.orderKey) else { return }
    prefetchingCount += change
    hosts[Int(item.host)].prefetching += change
  }

  /// Whether there is a place for anything that is more than a prefetch.
  private var hasPlace: Bool { runningCount - prefetchingCount < limits.maximumConcurrent }

  /// Whether an item is within the limits that hold for it.
  private func mayRun(_ item: Item) -> Bool {
    let host = hosts[Int(item.host)]
    let isPrefetch = Self.isPrefetch(item.orderKey)
    return runningCount - (isPrefetch ? 0 : prefetchingCount) < limits.maximumConcurrent
      && host.running - (isPrefetch ? 0 : host.prefetching) < limits.maximumPerHost
  }

  private func state(of slot: Slot) -> State? {
    guard slot.index < items.count, items[Int(slot.index)].generation == slot.generation else { return nil }
    return items[Int(slot.index)].state
  }

  private mutating func start(_ index: Int32, now: Nanoseconds) -> (ticket: Ticket, slot: Slot)? {
    let at = Int(index)
    guard let ticket = items[at].ticket else { return nil }
    let host = items[at].host
    items[at].state = .running
    items[at].ticket = nil
    pendingCount -= 1
    hosts[Int(host)].pending -= 1
    count(items[at], 1)
    if limits.minimumStartInterval > 0 {
      hosts[Int(host)].isDelayed = true
      delayed.push(key: now &+ limits.minimumStartInterval, index: host)
    }
    compact(host)
    advertise(host)
    return (ticket, Slot(index: index, generation: items[at].generation))
  }

  private mutating func release(_ index: Int32) {
    items[Int(index)].state = .free
    items[Int(index)].ticket = nil
    items[Int(index)].generation &+= 1
    freeItems.append(index)
  }

  private func waited(_ index: Int32, now: Nanoseconds) -> Nanoseconds {
    now > items[Int(index)].enqueuedAt ? now - items[Int(index)].enqueuedAt : 0
  }

  // MARK: Hosts

  private mutating func hostIndex(_ name: String) -> Int32 {
    if let known = hostsByName[name] { return known }
    let index: Int32
    if let free = freeHosts.popLast() {
      index = free
      hosts[Int(index)].name = name
    } else {
      index = Int32(hosts.count)
      hosts.append(Host(name: name))
    }
    hostsByName[name] = index
    return index
  }

  private mutating func discardIfIdle(_ host: Int32) -> Bool {
    let at = Int(host)
    guard hosts[at].pending == 0, hosts[at].running == 0, !hosts[at].isDelayed else { return false }
    hostsByName[hosts[at].name] = nil
    hosts[at] = Host()
    freeHosts.append(host)
    return true
  }

  /// Whether a host may start the first that waits for it.
  private mutating func isReady(_ host: Int32) -> Bool {
    let at = Int(host)
    guard hosts[at].pending > 0, !hosts[at].isDelayed,
      hosts[at].running - hosts[at].prefetching < limits.maximumPerHost
    else { return false }
    if hosts[at].running < limits.maximumPerHost { return true }
    return firstByOrder(host).map { !Self.isPrefetch(items[Int($0)].orderKey) } ?? false
  }

  /// Sees to it that a host that may start something stands in both heaps of ready hosts.
  private mutating func advertise(_ host: Int32) {
    let at = Int(host)
    guard isReady(host) else { return }
    if let item = firstByOrder(host), hosts[at].advertisedOrderKey != items[Int(item)].orderKey {
      hosts[at].advertisedOrderKey = items[Int(item)].orderKey
      readyByOrder.push(key: items[Int(item)].orderKey, index: host)
    }
    if let item = firstByAge(host), hosts[at].advertisedAgeKey != items[Int(item)].sequence {
      hosts[at].advertisedAgeKey = items[Int(item)].sequence
      readyByAge.push(key: items[Int(item)].sequence, index: host)
    }
    if readyByOrder.count > 2 * hosts.count + 64 {
      readyByOrder.filter { [hosts] in hosts[Int($0.index)].advertisedOrderKey == $0.key }
    }
    if readyByAge.count > 2 * hosts.count + 64 {
      readyByAge.filter { [hosts] in hosts[Int($0.index)].advertisedAgeKey == $0.key }
    }
  }

  private mutating func firstByOrder(_ host: Int32) -> Int32? {
    while let entry = hosts[Int(host)].byOrder.first {
      let at = Int(entry.index)
      if items[at].state == .pending, items[at].orderKey == entry.key { return entry.index }
      hosts[Int(host)].byOrder.removeFirst()
    }
    return nil
  }

  private mutating func firstByAge(_ host: Int32) -> Int32? {
    while let entry = hosts[Int(host)].byAge.first {
      let at = Int(entry.index)
      if items[at].state == .pending, items[at].sequence == entry.key { return entry.index }
      hosts[Int(host)].byAge.removeFirst()
    }
    return nil
  }

  /// The item that has waited longest among the hosts that may start something.
  private mutating func oldestReady() -> Int32? {
    while let entry = readyByAge.first {
      let host = entry.index
      guard hosts[Int(host)].advertisedAgeKey == entry.key else {
        readyByAge.removeFirst()
        continue
      }
      if isReady(host), let item = firstByAge(host), items[Int(item)].sequence == entry.key { return item }
      readyByAge.removeFirst()
      hosts[Int(host)].advertisedAgeKey = nil
      advertise(host)
    }
    return nil
  }

  private mutating func releaseDelayed(now: Nanoseconds) {
    while let entry = delayed.first, entry.key <= now {
      delayed.removeFirst()
      hosts[Int(entry.index)].isDelayed = false
      if !discardIfIdle(entry.index) { advertise(entry.index) }
    }
  }

  /// Rebuilds a host's heaps once most of their entries are of items that are gone.
  private mutating func compact(_ host: Int32) {
    let at = Int(host)
    let limit = 2 * hosts[at].pending + 64
    if hosts[at].byOrder.count > limit {
      hosts[at].byOrder.filter { [items] in
        items[Int($0.index)].state == .pending && items[Int($0.index)].orderKey == $0.key
      }
    }
    if hosts[at].byAge.count > limit {
      hosts[at].byAge.filter { [items] in
        items[Int($0.index)].state == .pending && items[Int($0.index)].sequence == $0.key
      }
    }
  }
}

extension TransferScheduler: Sendable where Ticket: Sendable {}
extension TransferScheduler.Item: Sendable where Ticket: Sendable {}

/// A binary heap of numbers under keys, the smallest key first.
struct KeyedHeap: Sendable {
  struct Entry: Hashable, Sendable {
    var key: UInt64
    var index: Int32
  }

  private var entries = ContiguousArray<Entry>()

  var count: Int { entries.count }
  var first: Entry? { entries.first }

  mutating func push(key: UInt64, index: Int32) {
    entries.append(Entry(key: key, index: index))
    siftUp(entries.count - 1)
  }

  mutating func removeFirst() {
    guard let last = entries.popLast(), !entries.isEmpty else { return }
    entries[0] = last
    siftDown(0)
  }

  /// Keeps the entries that the closure approves of.
  mutating func filter(_ keeps: (Entry) -> Bool) {
    entries.removeAll { !keeps($0) }
    for at in stride(from: entries.count / 2 - 1, through: 0, by: -1) { siftDown(at) }
  }

  private mutating func siftUp(_ start: Int) {
    var at = start
    let entry = entries[at]
    while at > 0 {
      let parent = (at - 1) / 2
      if entries[parent].key <= entry.key { break }
      entries[at] = entries[parent]
      at = parent
    }
    entries[at] = entry
  }

  private mutating func siftDown(_ start: Int) {
    var at = start
    let entry = entries[at]
    while true {
      var child = 2 * at + 1
      guard child < entries.count else { break }
      if child + 1 < entries.count, entries[child + 1].key < entries[child].key { child += 1 }
      if entry.key <= entries[child].key { break }
      entries[at] = entries[child]
      at = child
    }
    entries[at] = entry
  }
}
