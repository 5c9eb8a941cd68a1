import { segmentsBelow, splitLeaf } from "#runtime/files/below.ts";
import { decodeName } from "#runtime/files/names.ts";
import {
  type Entry,
  type EntryKind,
  type FileInfo,
  type Files,
  FilesError,
  type FilesErrorCode,
  type FileWriter,
  type OpenedFile,
} from "#runtime/files/port.ts";

export interface MemoryFilesOptions {
  readonly root: string;
  /** Milliseconds since the epoch, for modification times. */
  readonly now: () => number;
  /** Bytes of content that fit; more is `NoSpace`. Default: no limit. */
  readonly capacityBytes?: number;
}

interface Node {
  kind: EntryKind;
  mode: number;
  links: number;
  modifiedAt: number;
  /** Of a file. */
  content: Uint8Array;
  /** Of a directory, by the latin1 text of the raw name. */
  readonly children: Map<string, Node>;
}

const chunkBytes = 256 * 1024;

/** {@link Files} in memory, for the simulation and for tests. It obeys the same contract, hostile entries included. */
export class MemoryFiles implements Files {
  readonly root: string;
  readonly #options: MemoryFilesOptions;
  readonly #top: Node;
  #used = 0;

  constructor(options: MemoryFilesOptions) {
    this.root = options.root;
    this.#options = options;
    this.#top = this.#node("Directory", 0o755);
  }

  /** Bytes of content that are stored now. */
  get usedBytes(): number {
    return this.#used;
  }

  /** Puts something there that no method of {@link Files} makes: a link, a device, or a name that is not UTF-8. */
  plant(path: string, kind: "Symlink" | "Other"): void;
  plant(path: string, kind: "File", content: Uint8Array, rawName?: Uint8Array): void;
  plant(path: string, kind: EntryKind, content?: Uint8Array, rawName?: Uint8Array): void {
    const { parent, leaf } = splitLeaf(this.root, path);
    const node = this.#node(kind, kind === "Symlink" ? 0o777 : 0o644);
    node.content = content ?? node.content;
    this.#used += node.content.length;
    this.#directory(parent).children.set(rawName ? key(rawName) : key(leaf), node);
  }

  /** Gives a file a second name. */
  plantHardLink(from: string, to: string): void {
    const node = this.#require(from);
    node.links += 1;
    const { parent, leaf } = splitLeaf(this.root, to);
    this.#directory(parent).children.set(key(leaf), node);
  }

  async stat(path: string): Promise<FileInfo | undefined> {
    const node = this.#find(path);
    return node && infoOf(node);
  }

  async list(path: string, maxEntries: number): Promise<readonly Entry[]> {
    const { children } = this.#directory(path);
    if (children.size > maxEntries) throw fail("TooMany", path, `has more than ${maxEntries} entries`);
    return [...children]
      .map(([name, node]) => ({ raw: Buffer.from(name, "latin1"), node }))
      .sort((a, b) => Buffer.compare(a.raw, b.raw))
      .map(({ raw, node }) => ({ ...infoOf(node), ...decodeName(raw) }));
  }

  async makeDirectory(path: string, mode = 0o755): Promise<void> {
    let node = this.#top;
    const segments = segmentsBelow(this.root, path);
    for (const [index, segment] of segments.entries()) {
      const next = node.children.get(key(segment));
      if (next === undefined) {
        const made = this.#node("Directory", index === segments.length - 1 ? mode : 0o755);
        node.children.set(key(segment), made);
        node.modifiedAt = made.modifiedAt;
        node = made;
      } else {
        node = mustBe(next, "Directory", path);
      }
    }
  }

  async readFile(path: string, maxBytes: number): Promise<Uint8Array> {
    return mustBe(this.#require(path), "File", path).content.slice(0, maxBytes);
  }

  async writeFile(path: string, content: Uint8Array, mode = 0o644): Promise<void> {
    const { parent, leaf } = splitLeaf(this.root, path);
    const { children } = this.#directory(parent);
    const old = children.get(key(leaf));
    if (old?.kind === "Directory") throw fail("WrongKind", path, "is a directory, not a file");
    this.#take(path, content.length);
    if (old !== undefined) this.#release(old);
    const node = this.#node("File", mode);
    node.content = content.slice();
    children.set(key(leaf), node);
  }

  async openFile(path: string): Promise<OpenedFile> {
    const node = mustBe(this.#require(path), "File", path);
    return {
      info: infoOf(node),
      async *read(start = 0, end = Number.POSITIVE_INFINITY) {
        for (let at = start; at < Math.min(end, node.content.length); at += chunkBytes) {
          yield node.content.subarray(at, Math.min(at + chunkBytes, end));
        }
      },
      close: async () => {},
    };
  }

  async createFile(path: string, mode: number): Promise<FileWriter> {
    const { parent, leaf } = splitLeaf(this.root, path);
    const { children } = this.#directory(parent);
    if (children.has(key(leaf))) throw fail("Exists", path, "exists already");
    const node = this.#node("File", mode);
    children.set(key(leaf), node);
    return {
      write: async (chunk) => {
        this.#take(path, chunk.length);
        node.content = Buffer.concat([node.content, chunk]);
        node.modifiedAt = this.#options.now();
      },
      sync: async () => {},
      close: async () => {},
    };
  }

  async setMode(path: string, mode: number): Promise<void> {
    const node = this.#require(path);
    if (node.kind !== "File" && node.kind !== "Directory") throw notPlain(path, node.kind);
    node.mode = mode;
  }

  async rename(from: string, to: string): Promise<void> {
    const source = splitLeaf(this.root, from);
    const target = splitLeaf(this.root, to);
    const node = this.#require(from);
    const into = this.#directory(target.parent);
    const old = into.children.get(key(target.leaf));
    if (old === node) return;
    if (node.kind === "Directory" && `${to}/`.startsWith(`${from}/`)) {
      throw fail("Failed", to, "a directory cannot be moved into itself");
    }
    if (old !== undefined) {
      if ((old.kind === "Directory") !== (node.kind === "Directory")) throw fail("WrongKind", to, "is of another kind");
      if (old.children.size > 0) throw fail("NotEmpty", to, "the directory is not empty");
      this.#release(old);
    }
    this.#directory(source.parent).children.delete(key(source.leaf));
    into.children.set(key(target.leaf), node);
    into.modifiedAt = this.#options.now();
  }

  async remove(path: string): Promise<void> {
    const { parent, leaf } = splitLeaf(this.root, path);
    const above = this.#find(parent);
    if (above === undefined) return;
    const { children } = mustBe(above, "Directory", parent);
    const node = children.get(key(leaf));
    if (node === undefined) return;
    this.#release(node);
    children.delete(key(leaf));
  }

  async removeDirectory(path: string): Promise<void> {
    const node = this.#find(path);
    if (node === undefined) return;
    if (mustBe(node, "Directory", path).children.size > 0) throw fail("NotEmpty", path, "the directory is not empty");
    await this.remove(path);
  }

  async syncDirectory(path: string): Promise<void> {
    this.#directory(path);
  }

  #node(kind: EntryKind, mode: number): Node {
    return { kind, mode, links: 1, modifiedAt: this.#options.now(), content: new Uint8Array(), children: new Map() };
  }

  #find(path: string): Node | undefined {
    let node = this.#top;
    for (const segment of segmentsBelow(this.root, path)) {
      const next = mustBe(node, "Directory", path).children.get(key(segment));
      if (next === undefined) return undefined;
      node = next;
    }
    return node;
  }

  #require(path: string): Node {
    const node = this.#find(path);
    if (node === undefined) throw fail("Missing", path, "no such file or directory");
    return node;
  }

  #directory(path: string): Node {
    return mustBe(this.#require(path), "Directory", path);
  }

  #take(path: string, bytes: number): void {
    const { capacityBytes } = this.#options;
    if (capacityBytes !== undefined && this.#used + bytes > capacityBytes) {
      throw fail("NoSpace", path, "no space left on the volume");
    }
    this.#used += bytes;
  }

  #release(node: Node): void {
    node.links -= 1;
    if (node.links === 0) this.#used -= node.content.length;
    for (const child of node.children.values()) this.#release(child);
  }
}

function infoOf({ kind, content, mode, links, modifiedAt }: Node): FileInfo {
  return { kind, sizeBytes: content.length, mode, links, modifiedAt };
}

function mustBe(node: Node, kind: "File" | "Directory", path: string): Node {
  if (node.kind === kind) return node;
  if (node.kind === "Symlink" || node.kind === "Other") throw notPlain(path, node.kind);
  throw fail("WrongKind", path, `is not a ${kind.toLowerCase()}`);
}

function notPlain(path: string, kind: EntryKind): FilesError {
  return fail(
    "Unsafe",
    path,
    kind === "Symlink" ? "a symbolic link; links are not followed" : "a device, pipe or socket",
  );
}

function fail(code: FilesErrorCode, path: string, message: string): FilesError {
  return new FilesError(code, path, `${path}: ${message}`);
}

/** Names are kept byte by byte, as file systems do. */
function key(name: string | Uint8Array): string {
  return (typeof name === "string" ? Buffer.from(name) : Buffer.from(name)).toString("latin1");
}
