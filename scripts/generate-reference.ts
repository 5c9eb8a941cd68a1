export function renderReference(): Map<string, string> {
  return new Map();
}
