/** Work that says where it may be interrupted: it yields there. */
export type Work<T> = Generator<void, T>;

/** Does it at one go. */
export function finish<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
