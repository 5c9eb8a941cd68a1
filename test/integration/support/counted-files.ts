import type { Files, FileWriter, OpenedFile } from "#runtime/files/port.ts";

/**
 * The same files; `note` is told by how much the number of calls under way changes, those of opened files included.
 */
export function counted(files: Files, note: (change: 1 | -1) => void): Files {
  const during = async <T>(work: Promise<T>): Promise<T> => {
    note(1);
    try {
      return await work;
    } finally {
      note(-1);
    }
  };
  const writer = (file: FileWriter): FileWriter => ({
    write: (chunk) => during(file.write(chunk)),
    sync: () => during(file.sync()),
    close: () => during(file.close()),
  });
  const opened = (file: OpenedFile): OpenedFile => ({
    info: file.info,
    async *read(start, end) {
      const chunks = file.read(start, end)[Symbol.asyncIterator]();
      for (let next = await during(chunks.next()); !next.done; next = await during(chunks.next())) yield next.value;
    },
    close: () => during(file.close()),
  });
  return {
    root: files.root,
    stat: (path) => during(files.stat(path)),
    list: (path, maxEntries) => during(files.list(path, maxEntries)),
    makeDirectory: (path, mode) => during(files.makeDirectory(path, mode)),
    readFile: (path, maxBytes) => during(files.readFile(path, maxBytes)),
    writeFile: (path, content, mode) => during(files.writeFile(path, content, mode)),
    openFile: async (path) => opened(await during(files.openFile(path))),
    createFile: async (path, mode) => writer(await during(files.createFile(path, mode))),
    setMode: (path, mode) => during(files.setMode(path, mode)),
    rename: (from, to) => during(files.rename(from, to)),
    remove: (path) => during(files.remove(path)),
    removeDirectory: (path) => during(files.removeDirectory(path)),
    syncDirectory: (path) => during(files.syncDirectory(path)),
  };
}
