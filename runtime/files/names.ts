const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A name as text, and whether it was UTF-8; otherwise the text is for messages only. */
export function decodeName(raw: Uint8Array): { readonly name: string; readonly validName: boolean } {
  try {
    return { name: utf8.decode(raw), validName: true };
  } catch {
    return { name: new TextDecoder().decode(raw), validName: false };
  }
}
