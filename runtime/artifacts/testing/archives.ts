import { gzipSync } from "node:zlib";
import { Header, Pax } from "tar";

/** One entry of a hand-made archive; nothing is checked, that is the point. */
export interface RawEntry {
  readonly path: string;
  readonly type?: string;
  readonly content?: string | Uint8Array;
  readonly mode?: number;
  readonly linkpath?: string;
  /** What the header says, whatever the content is. */
  readonly size?: number;
  /** Put the path into an extended header, as archivers do with long ones. */
  readonly pax?: boolean;
  /** Changes the finished header block. */
  readonly damage?: (block: Buffer) => void;
}

export const endMarker = Buffer.alloc(1024);

/** The blocks of one entry, header and content. */
export function tarEntry({
  path,
  type = "File",
  content = "",
  mode = 0o644,
  linkpath,
  size,
  pax,
  damage,
}: RawEntry): Buffer {
  const body = Buffer.from(content as string);
  const fields = { path: pax ? "short" : path, mode, size: size ?? body.length, uid: 0, gid: 0, mtime: new Date(0) };
  const header = new Header({ ...fields, type: type as "File", ...(linkpath !== undefined && { linkpath }) });
  header.encode();
  const block = header.block ?? Buffer.alloc(512);
  if (damage) {
    damage(block);
    checksum(block);
  }
  const padding = Buffer.alloc((512 - (body.length % 512)) % 512);
  return Buffer.concat([pax ? new Pax({ path }).encode() : Buffer.alloc(0), block, body, padding]);
}

/** Writes the checksum that belongs to a changed header. */
export function checksum(block: Buffer): void {
  block.write("        ", 148);
  block.write(
    `${block
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\0 `,
    148,
  );
}

export function tar(...entries: RawEntry[]): Buffer {
  return Buffer.concat([...entries.map(tarEntry), endMarker]);
}

export function tarGz(...entries: RawEntry[]): Buffer {
  return gzipSync(tar(...entries));
}
