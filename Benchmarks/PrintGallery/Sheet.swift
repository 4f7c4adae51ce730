import CCairo
import Calotype

/// Sections of pictures on one, with a chequered ground that shows what is clear.
struct Sheet {
  private let title: String
  private var sections: [Section] = []

  private static let columns = 8
  private static let cellWidth = 148.0, cellHeight = 152.0, margin = 24.0, headerHeight = 44.0,
    titleHeight = 40.0

  init(title: String) { self.title = title }

  mutating func add(_ section: Section) { sections.append(section) }

  private func rows(_ section: Section) -> Int { (section.cells.count + Self.columns - 1) / Self.columns }

  func draw() throws -> Bitmap {
    let width = Self.margin * 2 + Double(Self.columns) * Self.cellWidth
    let height = sections.reduce(Self.margin * 2 + Self.titleHeight) {
      $0 + Self.headerHeight + Double(rows($1)) * Self.cellHeight
    }
    let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, Int32(width), Int32(height))
    defer { cairo_surface_destroy(surface) }
    let context = cairo_create(surface)
    defer { cairo_destroy(context) }
    cairo_set_source_rgb(context, 0.965, 0.96, 0.95)
    cairo_paint(context)
    text(context, title, Self.margin, Self.margin + 22, size: 22, bold: true)
    var y = Self.margin + Self.titleHeight
    for section in sections {
      text(context, section.title, Self.margin, y + 28, size: 15, bold: true)
      y += Self.headerHeight
      for (index, cell) in section.cells.enumerated() {
        let x = Self.margin + Double(index % Self.columns) * Self.cellWidth
        draw(context, cell, x, y + Double(index / Self.columns) * Self.cellHeight)
      }
      y += Double(rows(section)) * Self.cellHeight
    }
    cairo_surface_flush(surface)
    let stride = Int(cairo_image_surface_get_stride(surface))
    let pixels = cairo_image_surface_get_data(surface)
    return try Bitmap(size: PixelSize(width: Int(width), height: Int(height)), isOpaque: true) { target in
      guard let pixels else { return }
      for at in 0..<Int(width) * Int(height) {
        let from = at / Int(width) * stride + at % Int(width) * 4
        // Cairo's pixels are native words of alpha, red, green, blue: blue first in memory here.
        (target[at * 4], target[at * 4 + 1], target[at * 4 + 2], target[at * 4 + 3]) =
          (pixels[from + 2], pixels[from + 1], pixels[from], 255)
      }
    }
  }

  private func draw(_ context: OpaquePointer?, _ cell: Cell, _ x: Double, _ y: Double) {
    let left = (x + (Self.cellWidth - 12 - Double(cell.bitmap.width)) / 2).rounded()
    let top = (y + (124 - Double(cell.bitmap.height)) / 2).rounded()
    cairo_save(context)
    cairo_rectangle(context, left, top, Double(cell.bitmap.width), Double(cell.bitmap.height))
    cairo_clip(context)
    for row in 0...cell.bitmap.height / 8 {
      for column in 0...cell.bitmap.width / 8 {
        let shade = (row + column) % 2 == 0 ? 1.0 : 0.82
        cairo_set_source_rgb(context, shade, shade, shade)
        cairo_rectangle(context, left + Double(column) * 8, top + Double(row) * 8, 8, 8)
        cairo_fill(context)
      }
    }
    let surface = cairo_image_surface_create(
      CAIRO_FORMAT_ARGB32, Int32(cell.bitmap.width), Int32(cell.bitmap.height))
    defer { cairo_surface_destroy(surface) }
    let stride = Int(cairo_image_surface_get_stride(surface))
    if let target = cairo_image_surface_get_data(surface) {
      cell.bitmap.withUnsafeBytes { source in
        for row in 0..<cell.bitmap.height {
          for column in 0..<cell.bitmap.width {
            let from = row * cell.bitmap.bytesPerRow + column * 4, to = row * stride + column * 4
            (target[to], target[to + 1], target[to + 2], target[to + 3]) =
              (source[from + 2], source[from + 1], source[from], source[from + 3])
          }
        }
      }
    }
    cairo_surface_mark_dirty(surface)
    cairo_set_source_surface(context, surface, left, top)
    cairo_paint(context)
    cairo_restore(context)
    text(context, cell.name, x, y + 138, size: 10.5, bold: false)
  }

  private func text(
    _ context: OpaquePointer?, _ text: String, _ x: Double, _ y: Double, size: Double, bold: Bool
  ) {
    cairo_set_source_rgb(context, 0.14, 0.13, 0.12)
    cairo_select_font_face(
      context, "sans-serif", CAIRO_FONT_SLANT_NORMAL, bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL
    )
    cairo_set_font_size(context, size)
    cairo_move_to(context, x, y)
    cairo_show_text(context, text)
  }
}
