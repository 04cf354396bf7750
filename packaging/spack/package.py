# Copyright syncscope developers. See LICENSE-MIT and LICENSE-APACHE.
# A recipe for Spack: copy it to var/spack/repos/builtin/packages/syncscope/. `scripts/release` writes it with the checksum of the sources.
from spack.package import *


class Syncscope(CargoPackage):
    """Measures the cost of synchronization primitives on CPUs and GPUs."""

    homepage = "https://github.com/syncscope/syncscope"
    url = "https://github.com/syncscope/syncscope/releases/download/v0.1.0/syncscope-0.1.0.tar.gz"
    git = "https://github.com/syncscope/syncscope.git"

    license("MIT OR Apache-2.0")

    version("0.1.0", sha256="@SHA256@")

    variant("cuda", default=False, description="Depend on CUDA, whose NVRTC compiles the GPU kernels")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hwloc@2:")
    depends_on("cuda@12:", type="run", when="+cuda")

    @property
    def install_args(self):
        return ["--path", "crates/cli", "--locked"]
