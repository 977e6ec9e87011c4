#!/bin/bash
# airgap.sh IMAGE CHART_VERSION OS/ARCH...: packs what an installation without a connection to the internet needs into
# dist/h2surge-airgap-CHART_VERSION.tar.gz. "make airgap" makes image, chart and install.yaml before. The same files give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
image=$1 version=$2
shift 2
name=h2surge-airgap-$version
dir=dist/$name
rm -rf "$dir"
mkdir -p "$dir/crds"
cp -r dist/h2surge.oci "$dir/image"
cp "dist/h2surge-$version.tgz" dist/install.yaml LICENSE docs/operate/air-gapped.md "$dir/"
cp config/crd/bases/*.yaml "$dir/crds/"
for p; do
  mkdir -p "$dir/bin/$p"
  cp dist/root/"$p"/{h2surge,kubectl-h2surge} "$dir/bin/$p/"
  (cd hack/tools/release && GOOS=${p%%/*} GOARCH=${p##*/} go build -ldflags '-s -w' -o "../../../$dir/bin/$p/crane" github.com/google/go-containerregistry/cmd/crane)
done
echo "$image" >"$dir/IMAGE"
(cd "$dir" && find . -type f ! -name SHA256SUMS -print0 | LC_ALL=C sort -z | xargs -0 sha256sum >SHA256SUMS)
chmod -R u=rwX,go=rX "$dir"
tar --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C dist -c "$name" | gzip -n >"dist/$name.tar.gz"
echo "dist/$name.tar.gz"
