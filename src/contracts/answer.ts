/** A value that its reader does not change. */
export type Answer<Value> = Value extends readonly (infer Item)[]
  ? readonly Answer<Item>[]
  : Value extends object
    ? { readonly [Field in keyof Value]: Answer<Value[Field]> }
    : Value;
