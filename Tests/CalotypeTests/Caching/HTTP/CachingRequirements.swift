/// One requirement that a standard makes of a private cache, what Calotype does about it, and the tests that
/// show it. The table in the documentation is made of these.
struct CachingRequirement: Sendable {
  /// How binding it is.
  enum Level: String, Sendable {
    case must = "MUST"
    case should = "SHOULD"
    case may = "MAY"
  }

  /// The standard and section.
  var section: String
  /// How binding it is.
  var level: Level
  /// What it asks for, in short.
  var requirement: String
  /// What Calotype does.
  var behaviour: String
  /// The tests, as `Suite/function`.
  var tests: [String]

  init(_ section: String, _ level: Level, _ requirement: String, _ behaviour: String, _ tests: String...) {
    self.section = section
    self.level = level
    self.requirement = requirement
    self.behaviour = behaviour
    self.tests = tests
  }

  /// All of them, in the standards' order.
  static let all: [CachingRequirement] = storing + reusing + validating + ending + fields + others

  private static let storing: [CachingRequirement] = [
    .init(
      "9111 §1.2.2", .must, "A number of seconds that is too large counts as 2^31.", "It does, also in Age.",
      "CacheControlTests/readsSeconds", "CachingSequenceTests/ageCounts"),
    .init(
      "9111 §2", .must, "The key holds at least the method and the address.",
      "What is stored answers GET and HEAD, without a body, of its own address and Host; queries tell addresses "
        + "apart.",
      "CachedExchangeTests/whatTheAddressDoesNotNameIsToldApart",
      "ServingSequenceTests/addressesAreToldApartByTheirQuery", "HTTPStoringTests/keepsWhatIsNeededLater"),
    .init(
      "9111 §3", .must, "Store only where the method is understood.",
      "Responses to GET; to POST where they say that they are what GET would give (9110 §9.3.3).",
      "HTTPStoringTests/decides", "ValidationSequenceTests/aResponseToPostThatIsItsOwnContentAnswersGet"),
    .init(
      "9111 §3", .must, "Store only where the status is final, and understood if it is 206 or 304.",
      "1xx and 304 are never stored, 206 as a part.", "HTTPStoringTests/decides"),
    .init(
      "9111 §3", .must, "Store nothing where `no-store` forbids it.",
      "Nothing is stored, wherever it stands.",
      "HTTPStoringTests/decides", "CacheControlTests/noStoreIsSeenWhereverItStands",
      "HTTPParserPropertyTests/nothingAddedLetsAForbiddenResponseBeStored"),
    .init(
      "9111 §3", .must, "Store only what a header or the status allows to be stored.",
      "`public`, `private`, `max-age`, `Expires`, or a status that is cacheable by itself.",
      "HTTPStoringTests/decides", "CachingSequenceTests/anyStatusIsStoredWhereTheServerSaysForHowLong"),
    .init(
      "9111 §3.1", .must, "Store all header fields, also unknown ones.",
      "All are stored, repeats and order kept.",
      "ServingSequenceTests/fieldsAreStored"),
    .init(
      "9111 §3.1", .must, "Do not store fields for the connection and those that it lists.",
      "They are left out; a response whose Connection lists a caching field is not stored at all.",
      "ServingSequenceTests/fieldsForTheConnectionAreNotStored",
      "ServingSequenceTests/fieldsThatConnectionListsAreNotStored"),
    .init(
      "9111 §3.1", .must, "Do not store fields for a proxy.", "They are left out.",
      "ServingSequenceTests/fieldsForTheConnectionAreNotStored"),
    .init(
      "9111 §3.2", .must, "An update replaces all fields that it brings, but Content-Length.",
      "It does; Content-Encoding and Content-Range stay too, since they describe the stored bytes.",
      "ValidationSequenceTests/aNotModifiedResponseUpdatesFields",
      "ValidationSequenceTests/aNotModifiedResponseLeavesWhatDescribesTheBytes"),
    .init(
      "9111 §3.2", .must, "Fields that an update does not bring are kept.", "They are.",
      "ValidationSequenceTests/aNotModifiedResponseWithFewerFieldsKeepsTheRest"),
    .init(
      "9111 §3.3", .must, "Store a part only where ranges are understood, recorded as incomplete.",
      "A part is stored with its range; an incomplete response only with a strong tag.",
      "HTTPStoringTests/anIncompleteResponseIsKeptOnlyAsAPartThatCanBeGoneOnWith", "HTTPStoringTests/decides"),
    .init(
      "9111 §3.3", .must, "An incomplete response answers only a range that lies in it.", "It does.",
      "ServingSequenceTests/aStoredPartServesWhatLiesInIt",
      "ServingSequenceTests/aStoredPartDoesNotAnswerForTheWhole"),
    .init(
      "9111 §3.3", .must, "A part is sent as 206.", "It is.",
      "ServingSequenceTests/aPartOfAStoredWholeIsServed"),
    .init(
      "9111 §3.4", .must, "Parts are joined only where they share a strong validator.",
      "Only with the same strong tag, fitting places and the same length.", "ResumePolicyTests/joinsParts",
      "ResumePolicyTests/doesNotJoinWhatDoesNotBelongTogether"),
    .init(
      "9111 §3.4", .must, "The joined response has the newer response's fields.", "It has.",
      "ServingSequenceTests/aBeginningIsCompleted", "ResumePolicyTests/joinsParts"),
    .init(
      "9111 §3.4", .may, "A stored beginning is completed by asking for the rest.",
      "It is, with Range and If-Range.", "ServingSequenceTests/aBrokenDownloadIsGoneOnWith"),
    .init(
      "9111 §3.5", .must, "A shared cache does not use what was answered to credentials for other requests.",
      "A private cache may. Each one's are kept apart all the same, unless the response is public or has must-revalidate.",
      "CachedExchangeTests/whatWasAnsweredToCredentialsIsKeptApart"),
  ]

  private static let reusing: [CachingRequirement] = [
    .init(
      "9111 §4", .must, "Reuse without asking only what is fresh or may be used stale.", "Nothing else is.",
      "CachingSequenceTests/cacheControlDecides",
      "HTTPParserPropertyTests/whateverIsStoredAndAskedTheAnswerKeepsToTheRules"),
    .init(
      "9111 §4", .must, "A reused response has an Age, in place of any that it had.", "It has.",
      "ServingSequenceTests/ageIsWorkedOut", "ServingSequenceTests/theTimeAnAnswerTakesCountsAsAge"),
    .init(
      "9111 §4", .must, "Unsafe methods are written through.",
      "Only GET and HEAD are answered from what is stored.",
      "ValidationSequenceTests/anUnsafeMethodEndsWhatIsStored"),
    .init(
      "9111 §4", .must, "Of several responses that fit, the most recent answers.",
      "The one with the latest Date.",
      "ServingSequenceTests/ofSeveralThatFitTheMostRecentAnswers"),
    .init(
      "9111 §4.1", .must, "All fields that Vary names match, or the response is not used.",
      "They match where they differ in nothing, or in white space, lines, and the order and case of Accept fields.",
      "ServingSequenceTests/varyChooses", "ServingSequenceTests/linesOfVaryCountTogether",
      "HTTPVaryTests/aVariantsKeyIsTheSameForWhatMatchesAndNoOther"),
    .init(
      "9111 §4.1", .must, "`Vary: *` matches nothing.", "Such a response is not stored.",
      "ServingSequenceTests/varyChooses", "HTTPStoringTests/decides"),
    .init(
      "9111 §4.1", .may, "Several variants are kept side by side.", "They are.",
      "ServingSequenceTests/variantsAreKeptSideBySide"),
    .init(
      "9111 §4.2.1", .must,
      "`max-age` goes before Expires, and both before a guess; `s-maxage` is for shared caches.",
      "So it is.", "HTTPFreshnessTests/lifetimeIsTheFirstThatIsThere", "CachingSequenceTests/expiresDecides"),
    .init(
      "9111 §4.2.1", .should, "Of conflicting values the first holds, or the response is stale.",
      "It is stale.",
      "CacheControlTests/readsSeconds", "CachingSequenceTests/twoExpiresThatDisagreeAreStale"),
    .init(
      "9111 §4.2.1", .should, "A lifetime that cannot be read makes a response stale.", "It does.",
      "CacheControlTests/readsSeconds", "HTTPFreshnessTests/lifetimeIsTheFirstThatIsThere"),
    .init(
      "9111 §4.2.2", .must, "No lifetime is guessed where one is given.", "None is.",
      "HTTPFreshnessTests/lifetimeIsTheFirstThatIsThere"),
    .init(
      "9111 §4.2.2", .must, "A lifetime is guessed only for a cacheable status or with `public`.",
      "A tenth of the time since Last-Modified, at most a week.",
      "CachingSequenceTests/freshnessIsGuessedForSomeStatuses"),
    .init(
      "9111 §4.2.3", .must, "Age is worked out from Age, Date and the times of request and response.",
      "By the formulas; a clock that was set back makes a response stale.",
      "HTTPFreshnessTests/ageIsTheFormulas",
      "HTTPFreshnessTests/aResponseFromTheFutureOrOfUnknownTimeHasNoKnownAge",
      "ServingSequenceTests/aClockThatGoesBackwardsMakesNothingFresh"),
    .init(
      "9111 §4.2.4", .must, "No stale response where `no-cache` or `must-revalidate` forbids it.",
      "None is used.",
      "ServingSequenceTests/aStaleResponseIsServedWhenTheServerIsOutOfReach",
      "CachingSequenceTests/theRequestMayTakeLess"),
    .init(
      "9111 §4.2.4", .must, "A stale response only when disconnected, or where a side allows it.",
      "When no response came; in place of a 5xx only with `stale-if-error`.",
      "ServingSequenceTests/aStaleResponseIsServedWhenTheServerIsOutOfReach",
      "ServingSequenceTests/staleIfErrorIsHeeded"),
  ]

  private static let validating: [CachingRequirement] = [
    .init(
      "9111 §4.3.1", .must, "A question about a stored response carries its tag.",
      "If-None-Match, as it was given.",
      "ValidationSequenceTests/aStaleResponseIsAskedAboutByItsTag"),
    .init(
      "9111 §4.3.1", .should, "It carries Last-Modified too, where no part is asked for.",
      "If-Modified-Since.",
      "ValidationSequenceTests/aStaleResponseIsAskedAboutByItsDate",
      "ValidationSequenceTests/aTagAndADateAreBothSent"),
    .init(
      "9111 §4.3.1", .must, "It carries the request fields that Vary names.",
      "It carries all of the request's fields.",
      "ServingSequenceTests/anotherVariantsTagIsNotSent"),
    .init(
      "9111 §4.3.2", .should, "A request's conditions are answered from what is fresh.", "With 304 or 200.",
      "ValidationSequenceTests/ifNoneMatchIsAnsweredFromAFreshResponse",
      "ValidationSequenceTests/ifModifiedSinceIsAnsweredFromAFreshResponse"),
    .init(
      "9111 §4.3.2", .must, "Conditions for the origin alone are not answered.",
      "If-Match and If-Unmodified-Since pass through.",
      "ValidationSequenceTests/conditionsForTheServerAlonePassThrough"),
    .init(
      "9111 §4.3.2", .must, "Conditions pass through where nothing is stored.", "They do.",
      "ValidationSequenceTests/aConditionPassesThroughWhereNothingIsStored"),
    .init(
      "9111 §4.3.2", .must, "If-None-Match goes before If-Modified-Since.", "It does.",
      "ValidationSequenceTests/ifNoneMatchGoesBeforeIfModifiedSince"),
    .init(
      "9111 §4.3.2", .should, "Without Last-Modified, If-Modified-Since is measured by Date.", "It is.",
      "ValidationSequenceTests/ifModifiedSinceIsMeasuredByDateWhereThereIsNoLastModified"),
    .init(
      "9111 §4.3.2", .must,
      "A 304 for a tag that the request did not have becomes a 200 from what is stored.",
      "It does; both tags are sent.", "ValidationSequenceTests/theProgramsTagsAndTheStoredOneAreSentTogether"),
    .init(
      "9111 §4.3.3", .must, "A 304 lets the stored response be used; a full response takes its place.",
      "So it is.",
      "ValidationSequenceTests/aStaleResponseIsAskedAboutByItsTag",
      "ValidationSequenceTests/aNewResponseTakesThePlaceOfTheOld"),
    .init(
      "9111 §4.3.4", .must, "A 304 with a strong tag updates only a response with the same.",
      "Where the tags differ, the server is asked again without a condition; where only their strength differs, what "
        + "is stored is used and not updated.",
      "ValidationSequenceTests/aNotModifiedResponseOfAnotherVersionUpdatesNothing",
      "ValidationSequenceTests/aTagThatDiffersInStrengthConfirmsWithoutUpdating"),
    .init(
      "9111 §4.3.4", .must, "A 304 without a validator updates a single response without one.",
      "It updates the response whose validator it answers; the standard would have the server name it.",
      "ValidationSequenceTests/aNotModifiedResponseWithFewerFieldsKeepsTheRest"),
    .init(
      "9111 §4.3.4", .must, "The update renews the stored fields and times.", "It does.",
      "ValidationSequenceTests/aNotModifiedResponseRenewsTheTimes"),
    .init(
      "9111 §4.3.5", .should, "A 200 to HEAD that agrees updates the stored response.", "It does.",
      "ValidationSequenceTests/headFreshensWhatIsStored"),
    .init(
      "9111 §4.3.5", .should, "One that disagrees makes it stale.", "It does.",
      "ValidationSequenceTests/headThatDiffersMakesStale"),
  ]

  private static let ending: [CachingRequirement] = [
    .init(
      "9111 §4.4", .must, "A success of an unsafe or unknown method ends what is stored for its address.",
      "It does, with all variants, and whatever credentials it was answered to.",
      "ValidationSequenceTests/anUnsafeMethodEndsWhatIsStored",
      "CachedExchangeTests/anUnsafeMethodEndsEveryVariant"),
    .init(
      "9111 §4.4", .may, "It ends what Location and Content-Location name.", "It does.",
      "ValidationSequenceTests/anUnsafeMethodEndsWhatItNames"),
    .init(
      "9111 §4.4", .must, "But not what is of another origin.", "It does not.",
      "ValidationSequenceTests/anUnsafeMethodEndsWhatItNames"),
    .init(
      "9111 §4.4", .may, "A failure ends nothing.", "It ends nothing.",
      "ValidationSequenceTests/anUnsafeMethodEndsWhatIsStored"),
  ]

  private static let fields: [CachingRequirement] = [
    .init(
      "9111 §5.1", .should, "Of several Age values the first counts, and one that is no number is left out.",
      "So it is.",
      "CachingSequenceTests/ageCounts"),
    .init(
      "9111 §5.2", .must, "Directives are read in any case, as token or quoted.", "They are.",
      "CacheControlTests/namesAreReadInAnyCase", "CacheControlTests/readsSeconds"),
    .init(
      "9111 §5.2.1.1", .should, "A request's `max-age` bounds the age.", "It does.",
      "CachingSequenceTests/theRequestMayAskForMore",
      "CachingSequenceTests/agedResponsesAreMeasuredByTheirAge"),
    .init(
      "9111 §5.2.1.2", .should, "A request's `max-stale` takes a stale response.",
      "Unless the response forbids it.",
      "CachingSequenceTests/theRequestMayTakeLess"),
    .init(
      "9111 §5.2.1.3", .should, "A request's `min-fresh` wants it fresh for longer.", "It is asked for else.",
      "CachingSequenceTests/theRequestMayAskForMore"),
    .init(
      "9111 §5.2.1.4", .should, "A request's `no-cache` asks the server first.", "It does.",
      "CachingSequenceTests/theRequestMayAskForMore"),
    .init(
      "9111 §5.2.1.5", .must, "A request's `no-store` keeps the response out.", "Nothing is read or stored.",
      "HTTPStoringTests/decides", "CachingSequenceTests/theRequestMayAskForMore"),
    .init(
      "9111 §5.2.1.7", .should, "`only-if-cached` is answered from the cache, or with 504.", "It is.",
      "CachingSequenceTests/onlyIfCachedGivesA504WhereNothingIsStored"),
    .init(
      "9111 §5.2.2.2", .must, "`must-revalidate`: not used stale, also when disconnected.",
      "An error instead.",
      "ValidationSequenceTests/mustRevalidateIsObeyedWhenStale"),
    .init(
      "9111 §5.2.2.3", .must, "`must-understand`: not stored with an unknown status.", "It is not.",
      "CachingSequenceTests/mustUnderstandKeepsOutWhatIsNotUnderstood"),
    .init(
      "9111 §5.2.2.3", .should, "With a known status, `no-store` beside it is left out.", "It is.",
      "CachingSequenceTests/cacheControlDecides", "HTTPStoringTests/decides"),
    .init(
      "9111 §5.2.2.4", .must, "`no-cache`: not used without asking.",
      "It is stored, and asked about each time.",
      "CachingSequenceTests/cacheControlDecides"),
    .init(
      "9111 §5.2.2.4", .must, "`no-cache` with field names: those are not used without asking.",
      "They are left out of what is reused.", "CacheControlTests/noCacheMayNameFields",
      "ServingSequenceTests/fieldsThatNoCacheNamesAreWithheldUntilTheServerWasAsked"),
    .init(
      "9111 §5.2.2.5", .must, "`no-store`: not stored; an older response stays.", "So it is.",
      "ValidationSequenceTests/anAnswerThatMayNotBeStoredLeavesTheOldOne"),
    .init(
      "9111 §5.2.2.7", .may, "`private` responses are stored by a private cache.", "They are.",
      "CachingSequenceTests/cacheControlDecides"),
    .init(
      "9111 §5.2.2.10", .may, "`s-maxage` and `proxy-revalidate` say nothing to a private cache.",
      "They are left out.",
      "CachingSequenceTests/cacheControlDecides",
      "ServingSequenceTests/aStaleResponseIsServedWhenTheServerIsOutOfReach"),
    .init(
      "9111 §5.2.3", .must, "Unknown directives are left out.", "They are.",
      "CacheControlTests/saysNothingWhereNothingIsSaid"),
    .init(
      "9111 §5.3", .must, "Expires that is no date lies in the past.", "It does; all three forms are read.",
      "CachingSequenceTests/expiresIsReadByTheGrammar", "HTTPDateTests/takesNothingElseForADate"),
    .init(
      "9111 §5.4", .should, "`Pragma: no-cache` of a request counts without Cache-Control.", "It does.",
      "CachingSequenceTests/pragmaOfARequestCountsWithoutCacheControl"),
  ]

  private static let others: [CachingRequirement] = [
    .init(
      "9110 §5.6.7", .must, "Dates are read in three forms; a two-digit year is at most 50 years ahead.",
      "So it is.",
      "HTTPDateTests/readsTheThreeForms", "HTTPDateTests/aTwoDigitYearIsTheLatestThatIsAtMostFiftyYearsAhead"),
    .init(
      "9110 §5.6.7", .must, "Dates are written in the preferred form.", "They are.",
      "HTTPDateTests/writesWhatItReads"),
    .init(
      "9110 §6.6.1", .must, "A response without a date gets the one at which it came.", "It does.",
      "ServingSequenceTests/aResponseWithoutADateGetsOne"),
    .init(
      "9110 §8.8.3.2", .must, "Tags are compared weakly for change and strongly for parts.", "They are.",
      "EntityTagTests/compares"),
    .init(
      "9110 §13.1.5", .must, "If-Range is sent only with a strong validator.", "Only with a strong tag.",
      "ResumePolicyTests/asksForTheRestByAStrongTag", "ResumePolicyTests/doesNotGoOnWithWhatIsNotSure"),
    .init(
      "9110 §13.1.5", .must, "A range is left out where If-Range does not match.", "The whole is sent.",
      "ServingSequenceTests/aRangeIsServedOnlyOfTheVersionThatIsMeant"),
    .init(
      "9110 §14.2", .must, "Range units that are unknown and ranges that are none are left out.", "They are.",
      "ServingSequenceTests/aPartOfAStoredWholeIsServed", "ByteRangeTests/readsARequest"),
    .init(
      "9110 §14.4", .must, "A Content-Range that is not valid is joined with nothing.", "It is not.",
      "ByteRangeTests/takesNothingElseForAContentRange"),
    .init(
      "9110 §15.3.7", .must, "A 206 is looked at before its bytes are used.",
      "Start, length, tag and coding must fit; else the whole is asked for.",
      "ResumePolicyTests/judgesAnAnswer"),
    .init(
      "9110 §15.4.5", .must, "A 304 has the fields that a 200 would have for caching.", "It has.",
      "ValidationSequenceTests/ifNoneMatchIsAnsweredFromAFreshResponse"),
    .init(
      "9110 §9.2.2", .should, "Only idempotent requests are sent again by themselves.", "So it is.",
      "RetryPolicyTests/triesAgainOnlyWhatMayBeRepeated"),
    .init(
      "9110 §10.2.3", .should, "Retry-After, as seconds or a date, is waited for.", "Up to a limit.",
      "RetryPolicyTests/waitsAsLongAsTheServerAsks"),
    .init(
      "5861 §3", .may, "`stale-while-revalidate`: used within its time while the server is asked.", "It is.",
      "ServingSequenceTests/staleWhileRevalidateIsHeeded"),
    .init(
      "5861 §4", .may, "`stale-if-error`: used within its time in place of a failure.",
      "It is, of either side.",
      "ServingSequenceTests/staleIfErrorIsHeeded"),
    .init(
      "8246 §2", .should, "`immutable`: a reload does not ask while it is fresh.", "It does not.",
      "ServingSequenceTests/aReloadDoesNotAskAboutWhatIsImmutable"),
    .init(
      "9213 §2", .may, "`CDN-Cache-Control` is for others.", "It is left out.",
      "CachingSequenceTests/aResponseWithoutAWordAboutFreshnessIsAskedFor"),
    .init(
      "Fetch", .must, "The cache modes mean what the Fetch standard says.", "They do.",
      "ServingSequenceTests/theModesMeanWhatFetchSays"),
  ]
}
