import Testing

@testable import Calotype

@Suite struct OptionTests {
  @Test(arguments: [
    ("circle", "circle"), ("round:8", "round(8)"), ("round:1,2,3,4.5", "round(1,2,3,4.5)"),
    ("blur:2.5", "blur(2.5)"),
    ("tint:#f008", "tint(#ff000088)"), ("grey", "grey"),
    ("brightness:1.2", "adjust(brightness:1.2,contrast:1)"),
    ("contrast:0.5", "adjust(brightness:1,contrast:0.5)"), ("sharpen:1", "sharpen(1,1)"),
    ("flip:h", "flip(horizontal)"), ("flip:vertical", "flip(vertical)"), ("rotate:270", "rotate(270)"),
    ("crop:1,-2,30,40", "crop(1,-2,30,40)"), ("background:White", "background(#ffffff)"),
    ("border:2,navy", "round(0,border:2,#000080)"), ("sharpen:0.5,2", "sharpen(0.5,2)"),
    ("resize:48", "resize(48x48,fit)"), ("resize:96x64,exact,up", "resize(96x64,exact,up)"),
    ("resize:48,top", "resize(48x48,fill,anchor:top)"),
    ("resize:48x32,fill,attention", "resize(48x32,fill,anchor:attention)"),
  ])
  func isUnderstood(text: String, identifier: String) throws {
    #expect(try ImageProcessors.parse(text).identifier == identifier)
  }

  @Test(arguments: [
    "", ":", "sphere", "circle:8", "grey:", "round", "round:", "round:x", "round:-1", "round:1,2",
    "round:1,2,3,", "round:nan",
    "blur:inf", "blur:-1", "tint", "tint:#12", "tint:#ggg", "tint:#12345", "tint:reddish", "tint:#+1+1+1",
    "flip:d", "rotate:45",
    "crop:1,2,3", "crop:1,2,0,4", "crop:1,2,3.5,4", "crop:1,2,1e30,4", "crop:a,b,c,d", "border:2",
    "border:,red",
    "border:-2,red", "border:2,", "brightness:1001", "brightness:bright", "sharpen:1,", "sharpen:1,2,3",
    "resize", "resize:0", "resize:x",
    "resize:1x2x3", "resize:9,sideways", "overlay", "overlay:/missing.png", "overlay:/dev/zero",
    "overlay:/missing.png,center,0,0.5,1",
  ])
  func isRefusedWithAReason(text: String) {
    let error = #expect(throws: ImageProcessingError.self) { try ImageProcessors.parse(text) }
    #expect((error?.description.count ?? 0) > 10)
  }

  @Test func errorsNameTheOptionAndTheWayOut() {
    let error = #expect(throws: ImageProcessingError.self) { try ImageProcessors.parse("rotate:45") }
    #expect(error?.description == "--rotate 45: must be 90, 180 or 270")
    for (text, says) in [
      ("crop:99999999999,0,1,1", "X, Y, W and H must be under 1000000000"),
      ("sharpen:1,2,3", "must be N or N,RADIUS"), ("sharpen:1,x", "RADIUS must be a number from 0 to 100000"),
      ("overlay:/missing.png,middle", "there is also no position in it: center, topLeft"),
    ] {
      let error = #expect(throws: ImageProcessingError.self) { try ImageProcessors.parse(text) }
      #expect(error?.description.contains(says) == true, "\(text): \(String(describing: error))")
    }
    let unknown = #expect(throws: ImageProcessingError.self) { try ImageProcessors.parse("sphere") }
    #expect(unknown?.description.contains("circle") == true)
  }

  @Test func optionsAreAppliedInTheirOrderAndABorderFollowsItsShape() throws {
    let processors = try ImageProcessors.processors(options: [
      ("blur", "2"), ("circle", nil), ("border", "2,#fff"), ("border", "1,red"), ("round", "4"),
      ("border", "1,red"),
    ])
    #expect(
      processors.map(\.identifier) == [
        "blur(2)", "circle(border:2,#ffffff)", "round(0,border:1,#ff0000)", "round(4,border:1,#ff0000)",
      ])
  }

  @Test func everyOptionIsNamedOnce() {
    #expect(Set(ImageProcessors.options.map(\.name)).count == ImageProcessors.options.count)
    #expect(ImageProcessors.options.allSatisfy { !$0.summary.isEmpty })
  }
}
