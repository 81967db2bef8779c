set -e
export PATH=/tmp/exp/bin:$PATH
cd /tmp/x
zcat /work/shared/data/ebible/train.swh.gz /work/shared/data/ebible/train.swh.gz /work/shared/data/ebible/train.swh.gz /work/shared/data/ebible/train.swh.gz /work/shared/data/ebible/train.swh.gz > bible.swh
zcat /work/shared/data/ebible/train.en.?.gz > bible.en
time dragoman train --src /work/shared/data/multi30k/tok/train.de.gz --tgt /work/shared/data/multi30k/tok/train.en.gz --out multi30k
time dragoman train --src bible.swh --tgt bible.en --tokenizer moses --languages sw en --case truecase --out ebible
time dragoman train --src /work/shared/data/europarl/de-en/train.de.gz --tgt /work/shared/data/europarl/de-en/train.en.gz --tokenizer moses --languages de en --case truecase --out europarl
