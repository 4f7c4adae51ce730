// A window with a list of names and icons that load as one scrolls; Enter opens one large, with a waiting box.
//   swift run PictureWindow apps.json
#if canImport(CalotypeGTK)
  import CGtk
  import Calotype
  import CalotypeGTK
  import Foundation

  guard gtk_init_check() != 0, CommandLine.arguments.count == 2 else {
    print("usage, on a desktop: PictureWindow LIST")
    exit(2)
  }
  MainLoopBridge.start()
  var items: [ImageListItem] = []

  let list = PictureList { row in
    PictureListItem(title: items[row].title, subtitle: items[row].subtitle ?? "", url: items[row].url)
  }
  let large = RemotePicture()
  large.contentFit = .scaleDown
  let box = WaitingBox(over: large.widget)

  let panes = gtk_paned_new(GTK_ORIENTATION_HORIZONTAL)!
  gtk_paned_set_start_child(OpaquePointer(panes), list.widget)
  gtk_paned_set_end_child(OpaquePointer(panes), box.widget)
  gtk_paned_set_position(OpaquePointer(panes), 320)
  list.onActivate = { row in
    let request = ImageRequest(url: items[row].url)
    box.wait("Loading \(items[row].title)", for: { ImagePipeline.shared.task(for: request) }) { _ in
      large.url = request.url
    }
  }

  let window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
  gtk_window_set_title(window, "Pictures")
  gtk_window_set_default_size(window, 800, 600)
  gtk_window_set_child(window, panes)
  gtk_window_present(window)
  Task {
    do {
      let file = URL(fileURLWithPath: CommandLine.arguments[1])
      items = try await ImageList(path: file.path, options: ImageListOptions(baseURL: file)).items()
      list.count = items.count
    } catch {
      print(Escaping.displaySafe("\(error)"))
    }
  }
  MainLoopBridge.runUntilLastWindowCloses()
#else
  print("built without GTK 4: run scripts/setup, then build again")
#endif
