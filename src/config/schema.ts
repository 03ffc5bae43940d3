import { z } from 'zod';
import { isPort, parseAddress, parseUrl } from './address.ts';
import { expected, type AnyValue, type FileOption, type Option } from './option.ts';
import { OPTIONS, type OptionName, type OptionValue } from './options.ts';

/**
 * Schema of an option's value as a program hands it in: a number for an integer, a list of
 * {@link Address} for a list, what the file holds for a file. Messages begin with "expected" and
 * never hold the value.
 */
export function optionSchema<N extends OptionName>(name: N): z.ZodType<OptionValue<N>> {
  return valueSchema(OPTIONS[name]) as z.ZodType<OptionValue<N>>;
}

/**
 * Schema of an option's text as the environment holds it, which leads to {@link optionSchema}'s
 * value. A file option's is not in the environment, see {@link fileSchema}.
 */
export function textSchema(option: Option): z.ZodType<AnyValue> {
  return z
    .string()
    .transform((text) => fromText(option, text))
    .pipe(valueSchema(option));
}

/** Schema of what the file of a file option holds. */
export function fileSchema(option: FileOption): z.ZodType<string> {
  return z.string().regex(/-----BEGIN CERTIFICATE-----/, `expected ${expected(option)}`);
}

function valueSchema(option: Option): z.ZodType<AnyValue> {
  const message = `expected ${expected(option)}`;
  switch (option.kind) {
    case 'integer':
      return z.int(message).min(option.min, message).max(option.max, message);
    case 'choice':
      return z.enum(option.choices, message);
    case 'text':
    case 'secret':
      return z.string(message).regex(option.pattern, message);
    case 'url':
      return z.string(message).transform((text, context) => {
        const url = parseUrl(text, option);
        if (url !== undefined) return url;
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      });
    case 'list':
      return z.array(
        z.strictObject(
          { host: z.string(message).min(1, message), port: z.int(message).refine(isPort, message) },
          message,
        ),
        message,
      );
    default:
      return fileSchema(option);
  }
}

/** Turns text into what {@link valueSchema} takes; text that cannot be turned stays, and is refused there. */
function fromText(option: Option, text: string): unknown {
  switch (option.kind) {
    case 'integer':
      return /^[+-]?\d{1,16}$/.test(text) ? Number(text) : text;
    case 'list': {
      const addresses = text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
        .map(parseAddress);
      return addresses.includes(undefined) ? text : addresses;
    }
    default:
      return text;
  }
}
