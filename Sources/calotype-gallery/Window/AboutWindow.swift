import CGtk
import Calotype
import CalotypeGTK

/// What this program is, and what it is made with.
@MainActor
enum AboutWindow {
  static func present(over parent: UnsafeMutablePointer<GtkWindow>?, _ pipeline: ImagePipeline) {
    let dialog = gtk_about_dialog_new()!
    let about = dialog.opaque
    gtk_about_dialog_set_program_name(about, tr("Calotype Gallery"))
    gtk_about_dialog_set_logo_icon_name(about, GalleryApplication.identifier)
    gtk_about_dialog_set_version(about, CalotypeVersion.string)
    gtk_about_dialog_set_comments(about, tr("Lists of pictures that load as you scroll."))
    gtk_about_dialog_set_license_type(about, GTK_LICENSE_MIT_X11)
    gtk_about_dialog_set_system_information(about, information(isolation: "…"))
    gtk_window_set_transient_for(dialog.cast(), parent)
    gtk_window_set_modal(dialog.cast(), 1)
    gtk_window_present(dialog.cast())
    // It may take a process's start to know; by then the dialog may be closed, but is still there.
    g_object_ref(dialog)
    Task {
      let isolation = await isolation(of: pipeline)
      gtk_about_dialog_set_system_information(about, information(isolation: isolation))
      g_object_unref(dialog)
    }
  }

  @concurrent
  private static func isolation(of pipeline: ImagePipeline) async -> String {
    pipeline.isolationStatus.summary
  }

  private static func information(isolation: String) -> String {
    let formats = ImageDecoder.supportedFormats.map { $0.rawValue.uppercased() }.joined(separator: ", ")
    return """
      Calotype \(CalotypeVersion.string)
      GTK \(gtk_get_major_version()).\(gtk_get_minor_version()).\(gtk_get_micro_version())
      \(tr("Pictures are decoded: {where}", ["where": "\n  \(isolation)"]))
      \(tr("Formats: {list}", ["list": formats]))
      """
  }
}
