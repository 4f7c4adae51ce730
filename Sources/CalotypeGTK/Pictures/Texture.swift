internal import CGtk
public import Calotype

/// A bitmap as GTK shows it, without a copy: the texture keeps the bitmap's own memory alive, so what a memory
/// cache counts for the bitmap is all that the two take together.
///
/// Where a bitmap has a texture already, asking again gives the same one.
@MainActor
public final class Texture {
  /// The bitmap that it shows.
  public nonisolated let bitmap: Bitmap
  /// GTK's object, a `GdkTexture`, which is a `GdkPaintable` too. It is there for as long as this is kept, and
  /// longer where GTK keeps a reference of its own.
  public let pointer: OpaquePointer

  private struct Weak { weak var texture: Texture? }
  private static var living: [ObjectIdentifier: Weak] = [:]

  /// The texture of a bitmap.
  public static func of(_ bitmap: Bitmap) -> Texture {
    if let texture = living[bitmap.storageIdentity]?.texture { return texture }
    let texture = Texture(bitmap)
    living[bitmap.storageIdentity] = Weak(texture: texture)
    return texture
  }

  private init(_ bitmap: Bitmap) {
    self.bitmap = bitmap
    let keeper = Unmanaged.passRetained(BitmapKeeper(bitmap)).toOpaque()
    let bytes = g_bytes_new_with_free_func(
      bitmap.pixelAddress, gsize(bitmap.byteCount),
      { data in if let data { Unmanaged<BitmapKeeper>.fromOpaque(data).release() } }, keeper)
    // Sides are at most 2³¹ − 1, as no decoder makes a larger one; clamped, a wrong one could not pass the end.
    pointer = gdk_memory_texture_new(
      Int32(clamping: bitmap.width), Int32(clamping: bitmap.height), GDK_MEMORY_R8G8B8A8_PREMULTIPLIED, bytes,
      gsize(bitmap.bytesPerRow))
    g_bytes_unref(bytes)
  }

  isolated deinit {
    // Another texture of the same bitmap may have been made while this one was going.
    if Self.living[bitmap.storageIdentity]?.texture == nil { Self.living[bitmap.storageIdentity] = nil }
    g_object_unref(pointer.address)
  }

  /// How many textures there are.
  package static var livingCount: Int { living.count }
}

private final class BitmapKeeper {
  let bitmap: Bitmap
  init(_ bitmap: Bitmap) { self.bitmap = bitmap }
}
