import CChafa
import Calotype
import Foundation

/// `calotype show`.
enum ShowCommand {
  static func command() -> Command {
    Command(
      name: "show", summary: "Show pictures in the terminal", operands: "FILE|URL...",
      details:
        "As pixels where the terminal can (sixel, kitty, iTerm2), else in coloured characters; without colours where NO_COLOR is set.",
      groups: [
        OptionGroup(
          title: "Output",
          options: [
            Option("columns", nil, "N", "The most columns; the terminal's width by default"),
            Option("rows", nil, "N", "The most rows; the terminal's height less two by default"),
            Option(
              "as", nil, "KIND", Drawing.self,
              "How to draw; by what the terminal can by default"),
          ]),
        SharedOptions.network, SharedOptions.addresses, SharedOptions.cache,
        SharedOptions.safety,
      ],
      examples: [("calotype show https://example.com/icon.png", "One picture")],
      run: run)
  }

  @Sendable private static func run(_ arguments: Arguments) async throws -> Int32 {
    guard !arguments.operands.isEmpty else { throw UsageError("name a FILE or a URL") }
    let area = try Area(arguments)
    let session = try Session(arguments)
    // A character cell is about 10×20 pixels; more than that of each picture is not seen.
    var output = try PictureOutput(Arguments(command: "show"))
    output.targetSize = TargetSize(width: Double(area.columns * 10), height: Double(area.rows * 20))
    var failures = 0
    for operand in arguments.operands {
      do {
        let container = try await PictureSource(operand: operand).picture(session, output)
        if arguments.operands.count > 1 {
          Terminal.standardOutput.line(Escaping.displaySafe(Escaping.address(operand)))
        }
        Terminal.standardOutput.line(area.draw(container.bitmap))
      } catch {
        failures += 1
        Terminal.standardError.line(
          Escaping.displaySafe("failed: \(Escaping.address(operand)): \(FetchJob.describe(error).message)"))
      }
    }
    await session.pipeline.flush()
    session.diskCache?.flush()
    return failures > 0 ? 1 : 0
  }

  /// What a picture is drawn with.
  private enum Drawing: String, Choice { case auto, symbols, sixels, kitty, iterm }

  /// Where and how a picture is drawn.
  private struct Area {
    var columns: Int
    var rows: Int
    var mode: ChafaPixelMode?
    var hasColors: Bool

    init(_ arguments: Arguments) throws {
      var size = winsize()
      let isKnown = ioctl(1, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 2
      columns = try arguments.integer("columns", in: 1...1000) ?? (isKnown ? Int(size.ws_col) : 80)
      rows = try arguments.integer("rows", in: 1...1000) ?? (isKnown ? Int(size.ws_row) - 2 : 24)
      hasColors = (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
      mode =
        switch try arguments.choice("as", Drawing.self) {
        case nil, .auto: nil
        case .symbols: CHAFA_PIXEL_MODE_SYMBOLS
        case .sixels: CHAFA_PIXEL_MODE_SIXELS
        case .kitty: CHAFA_PIXEL_MODE_KITTY
        case .iterm: CHAFA_PIXEL_MODE_ITERM2
        }
    }

    func draw(_ bitmap: Bitmap) -> String {
      let terminal = terminalInfo()
      defer { chafa_term_info_unref(terminal) }
      let configuration = chafa_canvas_config_new()
      defer { chafa_canvas_config_unref(configuration) }
      var (width, height) = (gint(columns), gint(rows))
      chafa_calc_canvas_geometry(gint(bitmap.width), gint(bitmap.height), &width, &height, 0.5, 0, 0)
      chafa_canvas_config_set_geometry(configuration, max(1, width), max(1, height))
      chafa_canvas_config_set_cell_geometry(configuration, 10, 20)
      chafa_canvas_config_set_pixel_mode(configuration, mode ?? bestMode(terminal))
      chafa_canvas_config_set_canvas_mode(configuration, canvasMode(terminal))
      let symbols = chafa_symbol_map_new()
      defer { chafa_symbol_map_unref(symbols) }
      chafa_symbol_map_add_by_tags(symbols, CHAFA_SYMBOL_TAG_BLOCK)
      chafa_symbol_map_add_by_tags(symbols, CHAFA_SYMBOL_TAG_BORDER)
      chafa_symbol_map_add_by_tags(symbols, CHAFA_SYMBOL_TAG_SPACE)
      chafa_canvas_config_set_symbol_map(configuration, symbols)
      let canvas = chafa_canvas_new(configuration)
      defer { chafa_canvas_unref(canvas) }
      bitmap.withUnsafeBytes { bytes in
        chafa_canvas_draw_all_pixels(
          canvas, CHAFA_PIXEL_RGBA8_PREMULTIPLIED, bytes.bindMemory(to: UInt8.self).baseAddress,
          gint(bitmap.width),
          gint(bitmap.height), gint(bitmap.bytesPerRow))
      }
      guard let text = chafa_canvas_print(canvas, terminal) else { return "" }
      defer { g_string_free(text, 1) }
      return String(
        decoding: UnsafeRawBufferPointer(start: text.pointee.str, count: Int(text.pointee.len)), as: UTF8.self
      )
    }

    private func terminalInfo() -> OpaquePointer? {
      let environment = g_get_environ()
      defer { g_strfreev(environment) }
      let database = chafa_term_db_get_default()
      let terminal = chafa_term_db_detect(database, environment)
      // What was asked for is drawn also where the terminal is not known for it.
      let fallback = chafa_term_db_get_fallback_info(database)
      defer { chafa_term_info_unref(fallback) }
      if mode != nil { chafa_term_info_supplement(terminal, fallback) }
      return terminal
    }

    private func bestMode(_ terminal: OpaquePointer?) -> ChafaPixelMode {
      guard isatty(1) == 1 else { return CHAFA_PIXEL_MODE_SYMBOLS }
      if chafa_term_info_have_seq(terminal, CHAFA_TERM_SEQ_BEGIN_KITTY_IMMEDIATE_IMAGE_V1) != 0 {
        return CHAFA_PIXEL_MODE_KITTY
      }
      if chafa_term_info_have_seq(terminal, CHAFA_TERM_SEQ_BEGIN_ITERM2_IMAGE) != 0 {
        return CHAFA_PIXEL_MODE_ITERM2
      }
      if chafa_term_info_have_seq(terminal, CHAFA_TERM_SEQ_BEGIN_SIXELS) != 0 {
        return CHAFA_PIXEL_MODE_SIXELS
      }
      return CHAFA_PIXEL_MODE_SYMBOLS
    }

    private func canvasMode(_ terminal: OpaquePointer?) -> ChafaCanvasMode {
      if !hasColors { return CHAFA_CANVAS_MODE_FGBG }
      if chafa_term_info_have_seq(terminal, CHAFA_TERM_SEQ_SET_COLOR_FGBG_DIRECT) != 0 {
        return CHAFA_CANVAS_MODE_TRUECOLOR
      }
      if chafa_term_info_have_seq(terminal, CHAFA_TERM_SEQ_SET_COLOR_FGBG_256) != 0 {
        return CHAFA_CANVAS_MODE_INDEXED_240
      }
      return CHAFA_CANVAS_MODE_INDEXED_16
    }
  }
}
