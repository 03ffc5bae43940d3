/** Version of this package: a constant, so that every module system and bundler finds it. A test compares it. */
export const VERSION = '0.1.0';
