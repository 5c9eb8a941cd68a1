/** Media types of files that Runs often leave; anything else is plain bytes. */
const types: Readonly<Record<string, string>> = {
  bz2: "application/x-bzip2",
  css: "text/css",
  csv: "text/csv",
  gif: "image/gif",
  gz: "application/gzip",
  htm: "text/html",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript",
  json: "application/json",
  jsonl: "application/x-ndjson",
  log: "text/plain",
  md: "text/markdown",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  tar: "application/x-tar",
  tgz: "application/gzip",
  toml: "application/toml",
  txt: "text/plain",
  wasm: "application/wasm",
  webp: "image/webp",
  xml: "application/xml",
  xz: "application/x-xz",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip",
  zst: "application/zstd",
};

/** The media type of a stored artifact, by the extension of its name. Directories are stored as tar.gz. */
export function contentTypeOf(name: string, type: "File" | "Directory"): string {
  if (type === "Directory") return "application/gzip";
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return (name.includes(".") && Object.hasOwn(types, extension) && types[extension]) || "application/octet-stream";
}
