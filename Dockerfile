# docker build -t dpaccount . && docker run --rm --user "$(id -u)" -v "$PWD:/work" dpaccount release study.toml --yes
FROM python:3.11-slim
WORKDIR /opt/dpaccount
COPY requirements.lock requirements-team.lock pyproject.toml README.md LICENSE dpaccount_packages.py pytest_dpaccount.py ./
COPY .ci .ci
COPY dpaccount dpaccount
COPY mechanisms mechanisms
COPY bandits bandits
COPY audits audits
COPY service service
# requirements-team.lock: PostgreSQL, Parquet, dask and the service
RUN pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock -r requirements-team.lock \
    && pip install --no-cache-dir --no-deps --no-build-isolation . \
    && useradd --create-home --uid 1000 dpaccount
WORKDIR /work
# the folder that is mounted belongs to whom --user names
USER dpaccount
ENTRYPOINT ["dpaccount"]
