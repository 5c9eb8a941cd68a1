/**
 * A pass reads live what its cache does not know before it does something for ever. What is found so and goes before the
 * cache has seen it is told to nobody: there is no event of an object that came and went while a watch was late. So such a
 * pass looks again after this time, in milliseconds, as long as the cache is behind.
 */
export const lookAgainMs = 5000;
