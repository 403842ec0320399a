class Cdfz < Formula
  desc "Compressed archives of classic netCDF files"
  homepage "<<.Home>>"
  url "<<.Source>>"
  sha256 "<<.SHA256>>"
  license "Apache-2.0"

  depends_on "go" => :build

  def install
    ENV["CGO_ENABLED"] = "0"
    system "go", "build", *std_go_args(ldflags: "-s -w"), "./cmd/cdfz"
    system "go", "run", "-tags", "man", "./cmd/cdfz", "man", buildpath
    man1.install Dir["cdfz*.1"]
    generate_completions_from_executable(bin/"cdfz", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/cdfz version")
    (testpath/"x.cdl").write "netcdf x { dimensions: t = 3; variables: int v(t); data: v = 1, 2, 3; }"
    system bin/"cdfz", "gen", "x.cdl", "-o", "x.nc"
    system bin/"cdfz", "archive", "x.nc"
    system bin/"cdfz", "verify", "x.nc.cdfz"
  end
end
