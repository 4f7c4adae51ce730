import Foundation

/// Dates as HTTP writes them (RFC 9110, section 5.6.7), in seconds since 1970.
///
/// Read are the three forms that a recipient must know: `Sun, 06 Nov 1994 08:49:37 GMT`,
/// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. Letters' case is not looked at, nor
/// whether the day's name fits the date; all else must be as the grammar says, since a cache has to take an
/// invalid `Expires` for one in the past (RFC 9111, section 5.3).
enum HTTPDate {
  /// Reads a date.
  ///
  /// - Parameters:
  ///   - text: The field's value.
  ///   - now: The present in seconds since 1970, by which a two-digit year is placed.
  /// - Returns: Seconds since 1970, or `nil` where the text is no date.
  static func parse(_ text: String, now: Double) -> Double? {
    var text = text
    return text.withUTF8 { parse($0, now: now) }
  }

  /// Writes a date in the form to be sent, such as `Sun, 06 Nov 1994 08:49:37 GMT`. Moments outside the
  /// years 1 to 9999 are moved to their ends, what is no number to 1970.
  static func format(_ seconds: Double) -> String {
    let bounded = seconds.isNaN ? 0 : min(max(seconds, -62_135_596_800), 253_402_300_799)
    let whole = Int(bounded.rounded(.down))
    let day = Int((Double(whole) / 86_400).rounded(.down))
    let second = whole - day * 86_400
    let date = civil(day: day)
    let weekday = ((day + 4) % 7 + 7) % 7
    return String(unsafeUninitializedCapacity: 29) { buffer in
      var at = 0
      func put(_ text: StaticString, from start: Int = 0, count: Int) {
        text.withUTF8Buffer { for index in 0..<count { buffer[at + index] = $0[start + index] } }
        at += count
      }
      func put(_ number: Int, width: Int) {
        var rest = number
        for index in (0..<width).reversed() {
          buffer[at + index] = UInt8(ascii: "0") + UInt8(rest % 10)
          rest /= 10
        }
        at += width
      }
      put(weekdays, from: weekday * 3, count: 3)
      put(", ", count: 2)
      put(date.day, width: 2)
      put(" ", count: 1)
      put(months, from: (date.month - 1) * 3, count: 3)
      put(" ", count: 1)
      put(date.year, width: 4)
      put(" ", count: 1)
      put(second / 3600, width: 2)
      put(":", count: 1)
      put(second / 60 % 60, width: 2)
      put(":", count: 1)
      put(second % 60, width: 2)
      put(" GMT", count: 4)
      return at
    }
  }

  private static let weekdays: StaticString = "SunMonTueWedThuFriSat"
  private static let months: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"

  private static func parse(_ bytes: UnsafeBufferPointer<UInt8>, now: Double) -> Double? {
    var scanner = Scanner(bytes: bytes.trimmingOptionalWhitespace())
    guard let isShort = scanner.weekday() else { return nil }
    let parts: Parts?
    if scanner.take(UInt8(ascii: ",")) {
      parts = isShort ? scanner.fixedDate() : scanner.rfc850Date(now: now)
    } else {
      parts = isShort ? scanner.asctimeDate() : nil
    }
    guard let parts, scanner.isAtEnd else { return nil }
    return parts.seconds
  }

  /// A date and time of day.
  private struct Parts {
    var year: Int
    var month: Int
    var day: Int
    var time: Int

    /// Seconds since 1970, or `nil` where the month has no such day.
    var seconds: Double? {
      guard day >= 1, day <= HTTPDate.days(inMonth: month, year: year) else { return nil }
      return Double(HTTPDate.days(year: year, month: month, day: day) * 86_400 + time)
    }
  }

  /// Reads a date from left to right.
  private struct Scanner {
    var bytes: UnsafeBufferPointer<UInt8>
    var at = 0

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    var isAtEnd: Bool { at == bytes.count }

    mutating func take(_ byte: UInt8) -> Bool {
      guard at < bytes.count, bytes[at] == byte else { return false }
      at += 1
      return true
    }

    /// A number of exactly so many digits.
    mutating func digits(_ count: Int) -> Int? {
      guard at + count <= bytes.count else { return nil }
      var value = 0
      for index in at..<at + count {
        guard (0x30...0x39).contains(bytes[index]) else { return nil }
        value = value * 10 + Int(bytes[index] - 0x30)
      }
      at += count
      return value
    }

    /// A day's name: whether it is the short one.
    mutating func weekday() -> Bool? {
      let start = at
      while at < bytes.count, (0x61...0x7A).contains(bytes[at] | 0x20) { at += 1 }
      let name = UnsafeBufferPointer(rebasing: bytes[start..<at])
      for long in HTTPDate.longWeekdays {
        if name.count == 3, name.equalsIgnoringASCIICase(long, prefix: 3) { return true }
        if name.equalsIgnoringASCIICase(long) { return false }
      }
      return nil
    }

    mutating func month() -> Int? {
      guard at + 3 <= bytes.count else { return nil }
      let name = UnsafeBufferPointer(rebasing: bytes[at..<at + 3])
      for (index, month) in HTTPDate.lowercaseMonths.enumerated() where name.equalsIgnoringASCIICase(month) {
        at += 3
        return index + 1
      }
      return nil
    }

    /// `08:49:37` in seconds. A leap second counts as the second after it.
    mutating func time() -> Int? {
      guard let hour = digits(2), hour < 24, take(UInt8(ascii: ":")), let minute = digits(2), minute < 60,
        take(UInt8(ascii: ":")), let second = digits(2), second <= 60
      else { return nil }
      return hour * 3600 + minute * 60 + second
    }

    mutating func greenwich() -> Bool {
      guard take(UInt8(ascii: " ")), at + 3 <= bytes.count,
        UnsafeBufferPointer(rebasing: bytes[at..<at + 3]).equalsIgnoringASCIICase("gmt")
      else { return false }
      at += 3
      return true
    }

    /// ` 06 Nov 1994 08:49:37 GMT`
    mutating func fixedDate() -> Parts? {
      guard take(UInt8(ascii: " ")), let day = digits(2), take(UInt8(ascii: " ")), let month = month(),
        take(UInt8(ascii: " ")), let year = digits(4), take(UInt8(ascii: " ")), let time = time(), greenwich()
      else { return nil }
      return Parts(year: year, month: month, day: day, time: time)
    }

    /// ` 06-Nov-94 08:49:37 GMT`, in the latest year that is not more than 50 years ahead.
    mutating func rfc850Date(now: Double) -> Parts? {
      guard take(UInt8(ascii: " ")), let day = digits(2), take(UInt8(ascii: "-")), let month = month(),
        take(UInt8(ascii: "-")), let year = digits(2), take(UInt8(ascii: " ")), let time = time(), greenwich()
      else { return nil }
      let safeNow = now.isFinite ? min(max(now, 0), 253_402_300_799) : 0
      let today = HTTPDate.civil(day: Int(safeNow / 86_400))
      let limit = Double(
        HTTPDate.days(year: today.year + 50, month: today.month, day: today.day) * 86_400
          + Int(safeNow) % 86_400)
      var parts = Parts(year: (today.year + 50) / 100 * 100 + year, month: month, day: day, time: time)
      // 29 February may be there in one century and not in the other, so that the year is settled first.
      if Double(HTTPDate.days(year: parts.year, month: month, day: day) * 86_400 + time) > limit {
        parts.year -= 100
      }
      return parts
    }

    /// ` Nov  6 08:49:37 1994`
    mutating func asctimeDate() -> Parts? {
      guard take(UInt8(ascii: " ")), let month = month(), take(UInt8(ascii: " ")) else { return nil }
      guard let day = take(UInt8(ascii: " ")) ? digits(1) : digits(2), take(UInt8(ascii: " ")),
        let time = time(), take(UInt8(ascii: " ")), let year = digits(4)
      else { return nil }
      return Parts(year: year, month: month, day: day, time: time)
    }
  }

  fileprivate static let longWeekdays: [StaticString] = [
    "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
  ]
  fileprivate static let lowercaseMonths: [StaticString] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  fileprivate static func days(inMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1970 of a day of the Gregorian calendar. The year is counted from March, so that the leap
  /// day comes last and needs no case of its own.
  fileprivate static func days(year: Int, month: Int, day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  fileprivate static func civil(day: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    )
  }
}
