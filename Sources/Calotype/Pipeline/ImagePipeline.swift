/// Loads prints.
public final class ImagePipeline: Sendable {
}
