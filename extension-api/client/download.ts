import { createHash, type Hash } from "node:crypto";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";

/** The files of a download; the adapter is `download-files.ts`. */
export interface DownloadFiles {
  exists(path: string): Promise<boolean>;
  /** The unfinished file of a download to `path`, with what an earlier try has left. `tag` tells contents apart. */
  openPartial(path: string, tag: string): Promise<PartialFile>;
}

export interface PartialFile {
  size(): Promise<number>;
  /** Its bytes; each chunk is valid until the next. */
  read(): AsyncIterable<Uint8Array>;
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Removes its content. */
  truncate(): Promise<void>;
  /** Makes it safe on disk under the final name; closes it. */
  finish(): Promise<void>;
  /** Removes it; closes it. */
  discard(): Promise<void>;
  /** Leaves it for a later try. */
  close(): Promise<void>;
}

/** The bytes from the server are not those that the reference describes. */
export class ArtifactDamagedError extends Error {
  override readonly name = "ArtifactDamagedError";
}

/** The bytes of an artifact from `start` on; at most to its end. */
export type OpenBytes = (start: number) => Promise<AsyncIterable<Uint8Array>>;

/** Writes one artifact into a partial file and verifies it; goes on where an earlier try has ended. */
export class Download {
  readonly #ref: ArtifactRef;
  readonly #file: PartialFile;
  #hash: Hash = createHash("sha256");
  #size = 0;
  #resumed = false;

  private constructor(ref: ArtifactRef, file: PartialFile) {
    this.#ref = ref;
    this.#file = file;
  }

  static async begin(ref: ArtifactRef, file: PartialFile): Promise<Download> {
    const download = new Download(ref, file);
    if ((await file.size()) > ref.sizeBytes) await file.truncate();
    for await (const bytes of file.read()) download.#count(bytes);
    download.#resumed = download.#size > 0;
    return download;
  }

  /** Bytes that are there. */
  get size(): number {
    return this.#size;
  }

  /** Takes what is missing. May be called again after it was interrupted. */
  async receive(open: OpenBytes): Promise<void> {
    if (this.#size < this.#ref.sizeBytes) {
      for await (const bytes of await open(this.#size)) {
        if (this.#size + bytes.length > this.#ref.sizeBytes) throw this.#damaged("more bytes came");
        await this.#file.write(bytes, this.#size);
        this.#count(bytes);
      }
    }
  }

  get complete(): boolean {
    return this.#size === this.#ref.sizeBytes;
  }

  /**
   * Checks the digest of a complete download.
   * @returns false when bytes of an earlier try were wrong: they are removed, and receiving begins anew
   */
  async verify(): Promise<boolean> {
    const digest = `sha256:${this.#hash.digest("hex")}`;
    if (digest === this.#ref.digest) return true;
    if (!this.#resumed) throw this.#damaged(`their digest is ${digest}`);
    await this.#file.truncate();
    this.#hash = createHash("sha256");
    this.#size = 0;
    this.#resumed = false;
    return false;
  }

  #count(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#size += bytes.length;
  }

  #damaged(how: string): ArtifactDamagedError {
    const { name, sizeBytes, digest } = this.#ref;
    return new ArtifactDamagedError(`artifact ${name} should be ${sizeBytes} bytes with ${digest}, but ${how}`);
  }
}
