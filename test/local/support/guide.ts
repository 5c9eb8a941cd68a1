/** A command of a guide, with the files that were written before it, and what the guide says about its end. */
export interface GuideCommand {
  readonly command: string;
  /** Contents by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly exit: number;
  /** Texts that its output holds, as the guide shows them. */
  readonly shown: readonly string[];
  /** It prepares the machine, and is not for a test to run. */
  readonly setup: boolean;
}

const fence = /^```(\w+)([^\n]*)\n([\s\S]*?)^```$/gm;

/**
 * The commands of a Markdown text in their order. Blocks are told apart by their first line: `yaml PATH` is a file, `sh` a command
 * (`exit=N` when it does not end with 0, `setup` when it only prepares the machine), `text` what the command before it shows.
 */
export function readGuide(markdown: string): GuideCommand[] {
  const commands: { -readonly [K in keyof GuideCommand]: GuideCommand[K] }[] = [];
  let files: Record<string, string> = {};
  for (const [, language, info = "", body = ""] of markdown.matchAll(fence)) {
    const words = info.trim();
    const last = commands.at(-1);
    if (language === "yaml" && words !== "") files = { ...files, [words]: body };
    else if (language === "sh") {
      const exit = Number(/exit=(\d+)/.exec(words)?.[1] ?? 0);
      commands.push({ command: body.trim(), files, exit, shown: [], setup: words === "setup" });
    } else if (language === "text" && last !== undefined) last.shown = [...last.shown, body];
    else throw new Error(`a block of the guide is neither a file nor a command nor output: ${language} ${info}`);
  }
  return commands;
}
