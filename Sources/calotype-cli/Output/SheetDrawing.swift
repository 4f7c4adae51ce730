import CCairo
import Calotype

/// Draws the grid of a contact sheet with cairo, which its user has loaded.
struct SheetDrawing {
  var title: String
  var summary: String
  var cells: [SheetCell]

  private static let cellWidth = 148.0, cellHeight = 168.0, gap = 12.0, margin = 28.0, headerHeight = 64.0
  /// No side of a picture that cairo draws may be longer.
  private static let maximumSide = 32_000.0

  private var columns: Int {
    let wanted = cells.count <= 48 ? 8 : cells.count <= 400 ? 12 : 24
    return max(4, min(wanted, cells.count))
  }

  /// The finished picture.
  func draw() throws -> Bitmap {
    let rowCount = Int(
      (Self.maximumSide - Self.headerHeight - 2 * Self.margin) / (Self.cellHeight + Self.gap))
    let shown = cells.prefix(rowCount * columns)
    let rows = max(1, (shown.count + columns - 1) / columns)
    let width = Int(Self.margin * 2 + Double(columns) * (Self.cellWidth + Self.gap) - Self.gap)
    let height = Int(
      Self.margin * 2 + Self.headerHeight + Double(rows) * (Self.cellHeight + Self.gap) - Self.gap)
    let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, Int32(width), Int32(height))
    defer { cairo_surface_destroy(surface) }
    let context = cairo_create(surface)
    defer { cairo_destroy(context) }
    guard cairo_status(context) == CAIRO_STATUS_SUCCESS else {
      throw Failure("there is no memory for the sheet")
    }
    fill(context, 0xF6F5F2)
    cairo_paint(context)
    text(
      context, title, x: Self.margin, y: Self.margin + 18, width: Double(width) - 2 * Self.margin, size: 20,
      bold: true, 0x24221E)
    text(
      context, summary, x: Self.margin, y: Self.margin + 40, width: Double(width) - 2 * Self.margin, size: 13,
      bold: false, 0x77736A)
    for (index, cell) in shown.enumerated() {
      let x = Self.margin + Double(index % columns) * (Self.cellWidth + Self.gap)
      let y = Self.margin + Self.headerHeight + Double(index / columns) * (Self.cellHeight + Self.gap)
      draw(context, cell, x: x, y: y)
    }
    cairo_surface_flush(surface)
    return try bitmap(surface, PixelSize(width: width, height: height))
  }

  private func draw(_ context: OpaquePointer?, _ cell: SheetCell, x: Double, y: Double) {
    let radius = 9.0, right = x + Self.cellWidth, bottom = y + Self.cellHeight
    cairo_new_sub_path(context)
    cairo_arc(context, right - radius, y + radius, radius, -.pi / 2, 0)
    cairo_arc(context, right - radius, bottom - radius, radius, 0, .pi / 2)
    cairo_arc(context, x + radius, bottom - radius, radius, .pi / 2, .pi)
    cairo_arc(context, x + radius, y + radius, radius, .pi, .pi * 1.5)
    cairo_close_path(context)
    fill(context, cell.isFailure ? 0xFDF0EE : 0xFFFFFF)
    cairo_fill_preserve(context)
    fill(context, cell.isFailure ? 0xE0A9A5 : 0xE3E0D8)
    cairo_set_line_width(context, 1)
    cairo_stroke(context)
    if let bitmap = cell.thumbnail {
      paint(context, bitmap, centerX: x + Self.cellWidth / 2, centerY: y + 62)
    } else {
      text(
        context, cell.isFailure ? "!" : "–", x: x + Self.cellWidth / 2 - 6, y: y + 74, width: 40, size: 34,
        bold: true, cell.isFailure ? 0xB3261E : 0x77736A)
    }
    text(
      context, cell.name, x: x + 10, y: y + 134, width: Self.cellWidth - 20, size: 13, bold: true, 0x24221E)
    text(
      context, cell.detail, x: x + 10, y: y + 152, width: Self.cellWidth - 20, size: 11, bold: false,
      cell.isFailure ? 0xB3261E : 0x77736A)
  }

  private func paint(_ context: OpaquePointer?, _ bitmap: Bitmap, centerX: Double, centerY: Double) {
    let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, Int32(bitmap.width), Int32(bitmap.height))
    defer { cairo_surface_destroy(surface) }
    guard let target = cairo_image_surface_get_data(surface) else { return }
    let stride = Int(cairo_image_surface_get_stride(surface))
    bitmap.withUnsafeBytes { source in
      for row in 0..<bitmap.height {
        for column in 0..<bitmap.width {
          let from = row * bitmap.bytesPerRow + column * 4, to = row * stride + column * 4
          // Cairo's pixels are native words of alpha, red, green, blue: blue first in memory here.
          (target[to], target[to + 1], target[to + 2], target[to + 3]) =
            (source[from + 2], source[from + 1], source[from], source[from + 3])
        }
      }
    }
    cairo_surface_mark_dirty(surface)
    let x = (centerX - Double(bitmap.width) / 2).rounded(),
      y = (centerY - Double(bitmap.height) / 2).rounded()
    cairo_set_source_surface(context, surface, x, y)
    cairo_paint(context)
  }

  // MARK: Text

  /// Families that have letters which the usual one lacks; one that is not installed gives the usual one.
  private static let families = [
    "sans-serif", "Noto Sans CJK SC", "Noto Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Noto Sans", "Unifont",
  ]

  private func text(
    _ context: OpaquePointer?, _ text: String, x: Double, y: Double, width: Double, size: Double, bold: Bool,
    _ color: UInt32
  ) {
    fill(context, color)
    cairo_set_font_size(context, size)
    var shown = Escaping.displaySafe(String(text.prefix(300)))
    selectFont(context, for: shown, bold: bold)
    var extents = cairo_text_extents_t()
    cairo_text_extents(context, shown, &extents)
    // Scalars, not characters: one of those may be made of any number of scalars and be as wide.
    var kept = Array(shown.unicodeScalars)
    while extents.x_advance > width, kept.count > 1 {
      let fitting = Int(Double(kept.count) * max(0, width) / extents.x_advance)
      kept.removeLast(kept.count - max(1, min(kept.count - 1, fitting)))
      shown = String(String.UnicodeScalarView(kept)) + "…"
      cairo_text_extents(context, shown, &extents)
    }
    cairo_move_to(context, x, y)
    cairo_show_text(context, shown)
  }

  /// Takes the first family that has every letter; cairo's plain text calls look no further than one.
  private func selectFont(_ context: OpaquePointer?, for text: String, bold: Bool) {
    let weight = bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL
    for family in text.utf8.allSatisfy({ $0 < 0x80 }) ? ["sans-serif"] : Self.families {
      cairo_select_font_face(context, family, CAIRO_FONT_SLANT_NORMAL, weight)
      if hasAllGlyphs(context, text) { return }
    }
    cairo_select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL, weight)
  }

  private func hasAllGlyphs(_ context: OpaquePointer?, _ text: String) -> Bool {
    var glyphs: UnsafeMutablePointer<cairo_glyph_t>?
    var count: Int32 = 0
    let status = cairo_scaled_font_text_to_glyphs(
      cairo_get_scaled_font(context), 0, 0, text, Int32(text.utf8.count), &glyphs, &count, nil, nil, nil)
    guard status == CAIRO_STATUS_SUCCESS, let glyphs else { return true }
    defer { cairo_glyph_free(glyphs) }
    return (0..<Int(count)).allSatisfy { glyphs[$0].index != 0 }
  }

  private func fill(_ context: OpaquePointer?, _ color: UInt32) {
    cairo_set_source_rgb(
      context, Double(color >> 16 & 255) / 255, Double(color >> 8 & 255) / 255, Double(color & 255) / 255)
  }

  private func bitmap(_ surface: OpaquePointer?, _ size: PixelSize) throws -> Bitmap {
    guard let source = cairo_image_surface_get_data(surface) else {
      throw Failure("the sheet could not be drawn")
    }
    let stride = Int(cairo_image_surface_get_stride(surface))
    return try Bitmap(size: size, isOpaque: true) { target in
      for row in 0..<size.height {
        for column in 0..<size.width {
          let from = row * stride + column * 4, to = (row * size.width + column) * 4
          (target[to], target[to + 1], target[to + 2], target[to + 3]) =
            (source[from + 2], source[from + 1], source[from], 255)
        }
      }
    }
  }
}
