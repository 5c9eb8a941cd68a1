import { constants } from "node:fs";
import { type FileHandle, lstat, open, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { DownloadFiles, PartialFile } from "./download.ts";

/** Downloads to this machine's files. */
export const systemDownloadFiles: DownloadFiles = {
  async exists(path) {
    try {
      await lstat(path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw error;
    }
  },
  async openPartial(path, tag) {
    const partial = `${dirname(path)}/.${basename(path)}.${tag}.part`;
    const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
    return new SystemPartialFile(partial, path, await open(partial, O_RDWR | O_CREAT | O_NOFOLLOW, 0o666));
  },
};

class SystemPartialFile implements PartialFile {
  readonly #partial: string;
  readonly #path: string;
  readonly #file: FileHandle;

  constructor(partial: string, path: string, file: FileHandle) {
    this.#partial = partial;
    this.#path = path;
    this.#file = file;
  }

  async size(): Promise<number> {
    return (await this.#file.stat()).size;
  }

  async *read(): AsyncGenerator<Buffer> {
    const buffer = Buffer.allocUnsafe(1024 * 1024);
    for (let position = 0; ; ) {
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      done += (await this.#file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
    }
  }

  truncate(): Promise<void> {
    return this.#file.truncate(0);
  }

  async finish(): Promise<void> {
    await this.#file.sync();
    await this.#file.close();
    await rename(this.#partial, this.#path);
    const directory = await open(dirname(this.#path), "r");
    await directory.sync().finally(() => directory.close());
  }

  async discard(): Promise<void> {
    await this.#file.close();
    await rm(this.#partial, { force: true });
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
