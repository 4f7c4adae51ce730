import Foundation

/// Has every codec decode once before the worker is locked down: what codecs and the C library do the first
/// time they are used, such as reading files, is done by then.
enum WorkerWarmUp {
  static func run(_ decoder: ImageDecoder) {
    // Display P3 stands for every profile.
    let conversion = ColorConversion.make(
      primaries: [0.68, 0.32, 0.265, 0.69, 0.15, 0.06, 0.3127, 0.329], gamma: nil)
    for sample in samples {
      guard let data = Data(base64Encoded: sample, options: .ignoreUnknownCharacters) else { continue }
      let container = try? decoder.decode(data, targetSize: TargetSize(width: 20, height: 20))
      if let bitmap = container?.bitmap {
        try? conversion?.apply(to: bitmap, cancellation: CancellationFlag())
      }
    }
    // Formats behind a trait have no sample here; what their libraries do first, they do for these too.
    for start in [
      Array("\0\0\0\u{18}ftypheic\0\0\0\0mif1heic".utf8), [0xFF, 0x0A, 0, 0], [0x49, 0x49, 0x2A, 0],
    ] {
      _ = try? decoder.decode(Data(start + [UInt8](repeating: 0, count: 64)))
    }
    // The seed of every set and dictionary, and what text for errors needs.
    _ = Set(samples).count
    _ = "\(ImageDecodingError.truncated(.png))"
  }

  /// Small pictures, one a codec.
  private static let samples = [
    // JPEG
    """
    /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8Q
    EBEQCgwSExIQEw8QEBD/wAALCAAgADABAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUF
    BAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVW
    V1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi
    4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/APnTw/4TN3cJGI85PpX0L4H+ATatYC48jPy56VheNfhQdAlZDDjHtXGR+HdjY2fp
    Wna+H+nyfpWvbeH+nyVn+F9KW1u43ZOhFfVHw68ZWGl6WIXVc7cc1yPxJ1G21ud2iUc+lebJoW5ydn6VpWugdPk/Ste20Dp+7rmr
    PQyhBC10un29zEoVSwrQXTZbg5fJq7baBnHyVrWugdPkrWttA6fu65m28P8AT5K1rXw/0+Ste10Dp8la1t4f6fJWva+H+nyVrW3h
    /p8lf//Z
    """,
    // PNG
    """
    iVBORw0KGgoAAAANSUhEUgAAADAAAAAgAQAAAAB8r8axAAAAQ0lEQVR42mNgwArYIZT8AzBl/wFM1f8AU///wCl+IPUPKAGmmP8z
    MAIp+f9A3n8QAuL5EOo/AYoRQrFDKHsI9Z8aFAA4ynzDI0V03wAAAABJRU5ErkJggg==
    """,
    // GIF
    """
    R0lGODlhMAAgAIQAAOLhKd7VL9DFPsHEQ6PGT8C0TMChU6m0VaWqXKaiX6eZY4bZVHi/ZYunaHaocYGac12tel2cgciJWqqPZaiB
    bLByb7BidpCQcZSDdJZ1epZmgbRSfLRCg5VXiJNGkAAAACH5BAEAAB8ALAAAAAAwACAAQAj/AD8IHEiwoMGDCBMqRBgggIACCiZQ
    yKChg8WLGzJuWMjxw4OPDxqIvECy5AUMKDFQWLlygoSXLzsuhMCgps2aIg/o3HmggMyfQIMuLDBAgNEBBQ4kmIAyg9OnFaJKlSp0
    YISrDrJmBSmya4KvYA2IFVu1rNmzaM9WtOihbdqEAOI6LGBAolMNePFa2MvXwtmQCBDoRJBAAcmUGJ5mWDm1AsyqVyNsBQnSJMmI
    EzJnhinhLAQIWrV2FRm49M4CPt8erLlgAYHXqmPLnk27tm3VdO2uvWiRAwfach/WnZiXt8aMbwU0dIh0aVOKefv2PSsYNWqlhlMq
    ztB4atmPpL82QjCJGCXL85whR6DM3jJJzfDTq5c8mbJJBfjzKxhrwPPn0FmNFh5YCfD31n9aMSCgaTylJttNN70mIWy3VWjhhWYF
    BAA7
    """,
    // WEBP
    """
    UklGRhQBAABXRUJQVlA4IAgBAACQCACdASowACAAPjEWiUMiISEVXAUAIAMEtgBOmUI528A/FX2BKJ/Uvvz+GeXmcVcYD0MwCFsi
    BFn3ahmvLznqbu8HuoL3u6UATJnaAAD+/fArDAnbEuxpFJ8v3RtZi7PrMHaIcKx5OUv/38TEHvf/ev4KX1A3Ivr1H6W4r12O/HR8
    7P9C2iQS7mytvJGjvlqZIex0bBZGCdU42vDB+kRrSzX/KwP1lbS9GtX2jCePNFS17aUIs4iWe0AwpojNRrSzqcXS74VBwN9NphV9
    G9t5TLseruRtnk7eME/7xquNwsz5BzfNOS4XOlUMIWd4nMmUfqGiewzjhT/hxgnrPQPjvlSLrHJgAAA=
    """,
    // AVIF
    """
    AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUIAAADrbWV0YQAAAAAAAAAhaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAA
    AAAAAAAOcGl0bQAAAAAAAQAAAB5pbG9jAAAAAEQAAAEAAQAAAAEAAAETAAAAsgAAAChpaW5mAAAAAAABAAAAGmluZmUCAAAAAAEA
    AGF2MDFDb2xvcgAAAABqaXBycAAAAEtpcGNvAAAAFGlzcGUAAAAAAAAAMAAAACAAAAAQcGl4aQAAAAADCAgIAAAADGF2MUOBAAwA
    AAAAE2NvbHJuY2x4AAEADQAGgAAAABdpcG1hAAAAAAAAAAEAAQQBAoMEAAAAum1kYXQSAAoJGBUv+0QENBoQMqIBEgf39qkAggg+
    QAAA3Kq15k3HmDLma1qEHwDQ79ti//n/lY+RVYp+bqNVe12J7DFYJm4PeeVGH+zBQ+MHyaMEklBo/CUBhBTHtnSpQVNuOJmpr9Vy
    N7D/Di/s6p3ISHlgJoC7sJgft0V/KBxHTP0h0LFWTiDTUVDGf+u6OMMQqCZjtwC34tqg5MpS7CQQdRwD19XNqj8FxY/Soz5Mzh7/
    7Llw
    """,
  ]
}
