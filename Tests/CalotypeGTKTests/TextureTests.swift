import CGtk
import Calotype
import CalotypeGTK
import XCTest

private func smallBitmap() throws -> Bitmap {
  try Bitmap(size: PixelSize(width: 3, height: 2), isOpaque: false) { pixels in
    for at in pixels.indices { pixels[at] = at % 4 == 3 ? 255 : UInt8(at * 5) }
  }
}

/// What GTK has: blue, green, red, alpha.
@MainActor
private func pixels(_ texture: Texture) -> [UInt8] {
  var pixels = [UInt8](repeating: 0, count: 3 * 2 * 4)
  gdk_texture_download(texture.pointer, &pixels, 12)
  return pixels
}

final class TextureTests: DesktopTestCase {
  func testTheTextureShowsTheBitmapsOwnMemory() throws {
    try onMain {
      let bitmap = try smallBitmap()
      let texture = Texture.of(bitmap)
      XCTAssertEqual(gdk_texture_get_width(texture.pointer), 3)
      XCTAssertEqual(gdk_texture_get_height(texture.pointer), 2)
      for y in 0..<2 {
        for x in 0..<3 {
          let pixel = bitmap[x, y], at = y * 12 + x * 4
          XCTAssertEqual(
            Array(pixels(texture)[at..<at + 4]), [pixel.blue, pixel.green, pixel.red, pixel.alpha])
        }
      }
      // Nobody may do this but a test: a copy would not show it.
      bitmap.withUnsafeBytes {
        UnsafeMutableRawPointer(mutating: $0.baseAddress!).storeBytes(of: 99, as: UInt8.self)
      }
      XCTAssertEqual(pixels(texture)[2], 99)
    }
  }

  func testABitmapHasOneTextureForAsLongAsItIsKept() throws {
    try onMain {
      let bitmap = try smallBitmap()
      var texture: Texture? = Texture.of(bitmap)
      XCTAssertTrue(Texture.of(bitmap) === texture)
      let count = Texture.livingCount
      texture = nil
      XCTAssertEqual(Texture.livingCount, count - 1)
      XCTAssertNotNil(Texture.of(bitmap))
    }
  }

  func testTheTextureKeepsThePixelsWhenTheBitmapIsGone() throws {
    try onMain {
      let pointer: OpaquePointer
      do {
        let texture = Texture.of(try smallBitmap())
        pointer = texture.pointer
        g_object_ref(pointer.address)
      }
      var pixels = [UInt8](repeating: 0, count: 24)
      gdk_texture_download(pointer, &pixels, 12)
      XCTAssertEqual(pixels[4..<8].map { $0 }, [30, 25, 20, 255])
      g_object_unref(pointer.address)
    }
  }
}
