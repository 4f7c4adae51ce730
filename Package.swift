// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// A system library with the Debian and Homebrew packages that provide it.
func system(_ name: String, pkgConfig: String?, apt: String, brew: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig,
    providers: [.apt([apt]), .brew([brew])])
}

/// The pkg-config name of a library whose headers lie on Linux where the compiler looks anyway, and whose .pc file
/// there asks for what must not be: to link what is loaded late (CLateLibraries, CLateToolLibraries), or, Debian's
/// libjxl.pc, for defines that SwiftPM refuses with a warning.
func elsewhereThanOnLinux(_ name: String) -> String? {
  #if os(Linux)
    nil
  #else
    name
  #endif
}

// Half of the time that `calotype --version` takes goes into finding the symbols of Swift's and Foundation's
// shared libraries. The flags are the programs' alone: a package that depends on the library never meets them.
let toolLinkerSettings: [LinkerSetting] = [
  .unsafeFlags(
    [
      "-static-stdlib", "-lCoreFoundation", "-l_FoundationICU", "-l_FoundationCShims",
      "-l_FoundationCollections", "-lstdc++",
    ], .when(platforms: [.linux], configuration: .release))
]

/// Whether the desktop's targets are part of the package: where the environment says so with CALOTYPE_DESKTOP=1,
/// or says nothing and GTK 4 is installed. CALOTYPE_DESKTOP=0 leaves them out.
let withDesktop: Bool = {
  if let wish = Context.environment["CALOTYPE_DESKTOP"], !wish.isEmpty { return wish != "0" }
  let own = Context.environment["PKG_CONFIG_PATH"]?.split(separator: ":").map(String.init) ?? []
  let usual = [
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib",
    "/opt/homebrew/lib", "/usr/share",
  ].map { "\($0)/pkgconfig" }
  return (own + usual).contains { FileManager.default.fileExists(atPath: "\($0)/gtk4.pc") }
}()

let package = Package(
  name: "Calotype",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "Calotype", targets: ["Calotype"]),
    .executable(name: "calotype", targets: ["calotype-cli"]),
    .executable(name: "calotype-decoder", targets: ["calotype-decoder"]),
  ],
  traits: [
    .trait(name: "HEIF", description: "Decode HEIC and HEIF pictures with libheif."),
    .trait(name: "JXL", description: "Decode JPEG XL pictures with libjxl."),
    .trait(name: "TIFF", description: "Decode TIFF pictures with libtiff."),
  ],
  targets: [
    system("CCurl", pkgConfig: elsewhereThanOnLinux("libcurl"), apt: "libcurl4-openssl-dev", brew: "curl"),
    system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev", brew: "sqlite"),
    system("CXXHash", pkgConfig: "libxxhash", apt: "libxxhash-dev", brew: "xxhash"),
    system("CJPEG", pkgConfig: "libjpeg", apt: "libjpeg62-turbo-dev", brew: "jpeg-turbo"),
    system("CPNG", pkgConfig: "libpng", apt: "libpng-dev", brew: "libpng"),
    system(
      "CDeflate", pkgConfig: elsewhereThanOnLinux("libdeflate"), apt: "libdeflate-dev", brew: "libdeflate"),
    system("CWebP", pkgConfig: "libwebp", apt: "libwebp-dev", brew: "webp"),
    system("CGIF", pkgConfig: "libgif", apt: "libgif-dev", brew: "giflib"),
    system("CAVIF", pkgConfig: elsewhereThanOnLinux("libavif"), apt: "libavif-dev", brew: "libavif"),
    system("CLCMS2", pkgConfig: "lcms2", apt: "liblcms2-dev", brew: "little-cms2"),
    system("CHEIF", pkgConfig: "libheif", apt: "libheif-dev", brew: "libheif"),
    system("CJXL", pkgConfig: elsewhereThanOnLinux("libjxl"), apt: "libjxl-dev", brew: "jpeg-xl"),
    system("CTIFF", pkgConfig: "libtiff-4", apt: "libtiff-dev", brew: "libtiff"),
    system("CCairo", pkgConfig: elsewhereThanOnLinux("cairo"), apt: "libcairo2-dev", brew: "cairo"),
    system("CChafa", pkgConfig: "chafa", apt: "libchafa-dev", brew: "chafa"),
    .systemLibrary(name: "CSystem", path: "Sources/System/CSystem"),
    system("CCrypto", pkgConfig: elsewhereThanOnLinux("libcrypto"), apt: "libssl-dev", brew: "openssl@3"),
    .target(name: "CJPEGDecode", dependencies: ["CJPEG"], path: "Sources/Shims/CJPEGDecode"),
    .target(name: "CJPEGEncode", dependencies: ["CJPEG"], path: "Sources/Shims/CJPEGEncode"),
    .target(
      name: "CPNGDecode", dependencies: ["CPNG", "CDeflate", "CLateLibraries"],
      path: "Sources/Shims/CPNGDecode", linkerSettings: [.linkedLibrary("z")]),
    .target(
      name: "CPNGEncode", dependencies: ["CPNG", "CDeflate", "CLateLibraries"],
      path: "Sources/Shims/CPNGEncode"),
    .target(
      name: "CLateLibraries", path: "Sources/Shims/CLateLibraries",
      linkerSettings: [
        .linkedLibrary("avif", .when(platforms: [.macOS])),
        .linkedLibrary("curl", .when(platforms: [.macOS])),
        .linkedLibrary("deflate", .when(platforms: [.macOS])),
      ]),
    .target(
      name: "CLateToolLibraries", dependencies: ["CLateLibraries"], path: "Sources/Shims/CLateToolLibraries",
      linkerSettings: [
        .linkedLibrary("cairo", .when(platforms: [.macOS])),
        .linkedLibrary("crypto", .when(platforms: [.macOS])),
      ]),
    .target(name: "CHEIFDecode", path: "Sources/Shims/CHEIFDecode"),
    .target(name: "CSandbox", path: "Sources/Shims/CSandbox"),
    .target(
      name: "Calotype",
      dependencies: [
        "CCurl", "CSQLite", "CXXHash", "CWebP", "CAVIF", "CGIF", "CLCMS2", "CJPEGDecode", "CJPEGEncode",
        "CPNGDecode", "CPNGEncode", "CLateLibraries", "CSandbox", "CSystem",
        .target(name: "CHEIF", condition: .when(traits: ["HEIF"])),
        .target(name: "CHEIFDecode", condition: .when(traits: ["HEIF"])),
        .target(name: "CJXL", condition: .when(traits: ["JXL"])),
        .target(name: "CTIFF", condition: .when(traits: ["TIFF"])),
      ]),
    .executableTarget(
      name: "calotype-cli",
      dependencies: ["Calotype", "CCairo", "CChafa", "CCrypto", "CLateToolLibraries", "CSystem", "CXXHash"],
      linkerSettings: toolLinkerSettings),
    .executableTarget(
      name: "calotype-decoder", dependencies: ["Calotype"], linkerSettings: toolLinkerSettings),
    .target(
      name: "TestSupport",
      dependencies: ["Calotype"],
      path: "Tests/Support"),
    .target(name: "PlainC", dependencies: ["CJPEG", "CPNG"], path: "Benchmarks/PlainC"),
    .executableTarget(
      name: "calotype-bench",
      dependencies: ["Calotype", "PlainC", "TestSupport"],
      path: "Benchmarks/CalotypeBench"),
    .executableTarget(
      name: "print-gallery",
      dependencies: ["Calotype", "CCairo"],
      path: "Benchmarks/PrintGallery", linkerSettings: [.linkedLibrary("cairo")]),
    .executableTarget(
      name: "cache-writer",
      dependencies: ["Calotype"],
      path: "Tests/Helpers/cache-writer"),
    .executableTarget(
      name: "memory-hog",
      dependencies: ["Calotype"],
      path: "Tests/Helpers/memory-hog"),
    .executableTarget(
      name: "sandbox-probe",
      dependencies: ["CSandbox"],
      path: "Tests/Helpers/sandbox-probe"),
    .executableTarget(
      name: "fake-worker",
      dependencies: ["Calotype", "CSandbox"],
      path: "Tests/Helpers/fake-worker"),
    .executableTarget(
      name: "calotype-soak",
      dependencies: ["Calotype", "TestSupport"],
      path: "Tests/Helpers/soak"),
    // What scripts/fuzz gives made-up bytes to, and the tests the corpus.
    .target(name: "FuzzTargets", dependencies: ["Calotype"], path: "Fuzz/Targets"),
    .executableTarget(name: "calotype-fuzz", dependencies: ["FuzzTargets"], path: "Fuzz/Runner"),
    .testTarget(
      name: "CalotypeTests",
      dependencies: [
        "Calotype", "CSandbox", "TestSupport", "FuzzTargets", "cache-writer", "memory-hog",
        "calotype-decoder",
        "sandbox-probe", "fake-worker",
      ],
      exclude: [
        "Decoding/Fixtures", "Decoding/make-fixtures.py", "Decoding/TraitFixtures",
        "Decoding/make-trait-fixtures.py", "Processing/Fixtures", "Processing/make-fixtures.py",
        "Animation/Fixtures", "Animation/make-fixtures.py",
      ]),
    .testTarget(
      name: "CLITests",
      dependencies: ["TestSupport", "calotype-cli"]),
    .testTarget(
      name: "SnippetTests",
      dependencies: ["TestSupport"]),
  ],
  swiftLanguageModes: [.v6]
)

if withDesktop {
  package.products += [
    .library(name: "CalotypeGTK", targets: ["CalotypeGTK"]),
    .executable(name: "calotype-gallery", targets: ["calotype-gallery"]),
  ]
  package.targets += [
    system("CGtk", pkgConfig: "gtk4", apt: "libgtk-4-dev", brew: "gtk4"),
    .target(name: "CGtkObjects", dependencies: ["CGtk"], path: "Sources/Shims/CGtkObjects"),
    .target(name: "CalotypeGTK", dependencies: ["Calotype", "CGtk", "CGtkObjects"]),
    .executableTarget(
      name: "calotype-gtk-bench", dependencies: ["CalotypeGTK", "TestSupport"], path: "Benchmarks/GTKBench"),
    .executableTarget(
      name: "calotype-gallery",
      // The decoder is a program that the app starts.
      dependencies: ["Calotype", "CalotypeGTK", "CGtk", "CGtkObjects", "calotype-decoder"],
      exclude: ["Translations"], resources: [.copy("Resources/share")], linkerSettings: toolLinkerSettings),
    .testTarget(
      name: "CalotypeGTKTests", dependencies: ["CalotypeGTK", "TestSupport"],
      exclude: ["accessibility.py"]),
    .testTarget(
      name: "CalotypeGalleryTests", dependencies: ["Calotype", "TestSupport", "calotype-gallery"],
      exclude: ["screen_reader.py"]),
  ]
}
