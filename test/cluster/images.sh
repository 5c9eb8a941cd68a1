# Container images: the store in which they are built, and their way into the cluster (sourced).

image_store="$cache/images"
image_run=/run/kruntimes-images
build_images() { buildah --root "$image_store" --runroot "$image_run" --storage-driver overlay "$@"; }

image_id() { build_images images --no-trunc -q "$1" 2>/dev/null || true; }
has_image() { [ -n "$(image_id "$1")" ]; }

# build_image NAME DOCKERFILE CONTEXT [OPTION...]: steps whose files did not change are taken from the last time.
build_image() {
  local name=$1 file=$2 context=$3 before log
  shift 3
  before=$(image_id "$name")
  log=$(mktemp)
  build_images bud --layers --isolation chroot "$@" -t "$name" -f "$file" "$context" >"$log" 2>&1 ||
    die "$file cannot be built. The end of its output:" "$(tail -n 30 "$log")"
  rm -f "$log"
  [ -z "$before" ] || [ "$before" = "$(image_id "$name")" ] || build_images rmi "$before" >/dev/null 2>&1 || true
}

# import_image NAME: brings an image of the store into the cluster, unless the cluster has that very image.
import_image() {
  local id archive old
  id=$(image_id "$1")
  [ -z "$(ctr_ images ls -q "name==$1,labels.\"kruntimes.io/id\"==$id")" ] || return 0
  old=$(ctr_ images ls "name==$1" | grep -oE 'kruntimes.io/id=sha256:[0-9a-f]+' | cut -d= -f2) || true
  archive=$(mktemp -u -p "$state" image.XXXXXX)
  build_images push -q --disable-compression "$1" "docker-archive:$archive:$1" >/dev/null
  ctr_ images import "$archive" >/dev/null
  rm -f "$archive"
  ctr_ images label "$1" "kruntimes.io/id=$id" >/dev/null
  # The kubelet knows images by their id too; the name has moved on, so nothing needs the old one.
  [ -z "$old" ] || ctr_ images rm "$old" >/dev/null
}

# The two images that the cluster itself needs, each of one static program.
import_own_images() {
  local name
  for name in pause coredns; do
    build_image "localhost/kruntimes-cluster/$name:1" "$here/$name.Dockerfile" "$bin"
    import_image "localhost/kruntimes-cluster/$name:1"
  done
  say "the cluster's own images are there"
}
