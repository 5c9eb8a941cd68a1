import { type Files, FilesError, type FilesErrorCode, type OpenedFile } from "#runtime/files/port.ts";

export interface Faults {
  /** Asked before each call (`write` and `read` are calls on opened files); a code makes it fail. */
  fail?: (call: string, path: string) => FilesErrorCode | undefined;
  /** Changes what is read from files. */
  read?: (chunk: Uint8Array, path: string) => Uint8Array | undefined;
}

/** A {@link Files} that fails, or reads something else, on demand. */
export function faultyFiles(files: Files, faults: Faults): Files {
  const check = (call: string, path: string) => {
    const code = faults.fail?.(call, path);
    if (code !== undefined) throw new FilesError(code, path, `${path}: injected ${code}`);
  };
  const guarded = {
    root: files.root,
    async openFile(path: string): Promise<OpenedFile> {
      check("openFile", path);
      const file = await files.openFile(path);
      return {
        info: file.info,
        close: () => file.close(),
        async *read(start?: number, end?: number) {
          for await (const chunk of file.read(start, end)) {
            check("read", path);
            const changed = faults.read === undefined ? chunk : faults.read(chunk, path);
            if (changed === undefined) return;
            yield changed;
          }
        },
      };
    },
    async createFile(path: string, mode: number) {
      check("createFile", path);
      const writer = await files.createFile(path, mode);
      return {
        close: () => writer.close(),
        sync: async () => {
          check("sync", path);
          await writer.sync();
        },
        write: async (chunk: Uint8Array) => {
          check("write", path);
          await writer.write(chunk);
        },
      };
    },
  };
  return new Proxy(files, {
    get(target, name) {
      if (Object.hasOwn(guarded, name)) return Reflect.get(guarded, name);
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        check(String(name), String(args.at(name === "rename" ? 1 : 0)));
        return await (Reflect.apply(value, target, args) as Promise<unknown>);
      };
    },
  });
}
