import { z } from 'zod';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { findAsset, isCurrentStamp } from './assets.ts';
import { route, type Route } from './http/route.ts';

/** Styles and scripts. They are the same for everybody, and the page to sign in needs them. */
export const ASSET_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/assets/:stamp/:name',
    needs: 'open',
    kind: 'asset',
    summary: 'A file that pages load.',
    params: z.strictObject({ stamp: z.string(), name: z.string() }),
    answers: { 200: { says: 'The file.', type: '*/*' }, 404: { says: 'There is none.' } },
    handle: ({ params: { stamp, name } }) => {
      const asset = findAsset(name);
      if (asset === undefined) throw new NoticeQueueError('NOT_FOUND');
      // A page of another version may ask this one during an update: it must not keep the answer.
      return { kind: 'file', ...asset, cache: isCurrentStamp(stamp) ? 'for-ever' : 'ask-again' };
    },
  }),
];
