import json
from pathlib import Path
import pyarrow.parquet as pq
from tests.pipeline.batch.eventful import whole_run
from tests.pipeline.conftest import spark  # noqa
from rocketns.pipeline.contract.catalogue import JOBS, LISTED
from rocketns.pipeline.storage.results import Results
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.incidents.listing import incidents_of
import pickle, shutil
def test_x(spark):
    shutil.rmtree('/tmp/audit7/w', ignore_errors=True)
    w = whole_run(spark, Path('/tmp/audit7/w'))
    pickle.dump((w.observation, str(w.tables), w.request, w.journals), open('/tmp/audit7/w.pkl','wb'))
    for r in pq.read_table(w.tables/'incidents').to_pylist():
        if not r['doubt']: print('INC', r)
    results = Results(spark, Folder(spark, w.request.out), w.tables.name)
    for one in incidents_of(results.tables(LISTED), *w.observation):
        print('ONE', one.kind, one.ns, one.brokers, one.cause, len(one.rows), one.harm.orphaned)
    for r in pq.read_table(w.tables/'clock_days').to_pylist(): print(r)
