// Vertices, edges, their properties, paths, maps of them, and bulk.

'use strict';

const assert = require('node:assert/strict');
const gremlin = require('gremlin');
const { clear, one } = require('./support');
const { P, cardinality, direction, order, t, statics: __ } = gremlin.process;
const { Edge, Path, Property, Vertex, VertexProperty } = gremlin.structure;

/** Ann, Bob, and that Ann knows Bob, of a graph that has nothing else. */
async function people(g) {
  await clear(g);
  const ann = await one(g.addV('person').property('name', 'ann').property('age', 41));
  const bob = await one(g.addV('person').property('name', 'bob'));
  const edge = await one(g.V(ann.id).addE('knows').to(__.V(bob.id)).property('since', 1833));
  return { ann, bob, edge };
}

const ids = (elements) => elements.map((element) => element.id);

module.exports = {
  async verticesAndEdges({ g, client }) {
    const { ann, bob, edge } = await people(g);
    for (const vertex of [ann, await one(g.V(bob)), edge.inV]) {
      assert.ok(vertex instanceof Vertex && vertex.label === 'person', vertex);
    }
    assert.ok(edge instanceof Edge, edge);
    assert.deepEqual([edge.outV.id, edge.label, edge.inV.id], [ann.id, 'knows', bob.id]);
    assert.deepEqual(ids(await g.E(edge).toList()), [edge.id]);
    assert.deepEqual(ids(await g.E(edge.id).toList()), [edge.id]);
    const [since] = [].concat(...Object.values((await one(g.E(edge))).properties));
    assert.deepEqual([since.key, since.value], ['since', 1833]);
    const found = [].concat(...Object.values((await one(g.V(ann))).properties));
    assert.ok(found.every((property) => property instanceof VertexProperty), found);
    const values = new Map(found.map((property) => [property.key, property.value]));
    assert.deepEqual(values, new Map([['name', 'ann'], ['age', 41]]));
    assert.equal(new Set(ids(found)).size, 2);
    const bare = await one(g.with_('materializeProperties', 'tokens').V(ann));
    assert.equal([].concat(...Object.values(bare.properties ?? {})).length, 0);
    for (const x of [ann, ann.id]) {
      assert.deepEqual((await client.submit("g.V(x).values('name')", { x })).toArray(), ['ann']);
    }
  },

  async propertiesOfElements({ g }) {
    const { ann, edge } = await people(g);
    for (const nick of ['x', 'y']) await g.V(ann).property(cardinality.list, 'nick', nick).iterate();
    const found = await g.V(ann).properties('nick').toList();
    assert.ok(found.every((property) => property instanceof VertexProperty && property.key === 'nick'), found);
    assert.deepEqual(found.map((property) => property.value), ['x', 'y']);
    assert.notEqual(found[0].id, found[1].id);
    const since = await one(g.E(edge).properties());
    assert.ok(since instanceof Property && since.key === 'since' && since.value === 1833, since);
  },

  async paths({ g }) {
    const { ann, bob, edge } = await people(g);
    const path = await one(g.V(ann).as('a').outE('knows').as('b', 'c').inV().values('name').path());
    assert.ok(path instanceof Path, path);
    assert.deepEqual([...ids(path.objects.slice(0, 3)), path.objects[3]], [ann.id, edge.id, bob.id, 'bob']);
    assert.deepEqual(path.labels.map((labels) => [...labels]), [['a'], ['b', 'c'], [], []]);
    assert.deepEqual((await one(g.V(ann).out().path().by('name').by(t.label))).objects, ['ann', 'person']);
  },

  async mapsAndPredicates({ g }) {
    const { ann, bob, edge } = await people(g);
    assert.deepEqual(await one(g.V(ann).valueMap()), new Map([['age', [41]], ['name', ['ann']]]));
    const end = (id) => new Map([[t.id, id], [t.label, 'person']]);
    const map = await one(g.E(edge).elementMap());
    const ends = [[direction.in, end(bob.id)], [direction.out, end(ann.id)]];
    assert.deepEqual(map, new Map([[t.id, edge.id], [t.label, 'knows'], ...ends, ['since', 1833]]));
    const counts = await one(g.V().groupCount());
    assert.deepEqual([...counts].map(([vertex, count]) => [vertex.id, count]), [[ann.id, 1], [bob.id, 1]]);
    assert.deepEqual(await one(g.V().groupCount().by(t.label)), new Map([['person', 2]]));
    assert.deepEqual(await one(g.inject(new Map([['a', 1]])).unfold()), new Map([['a', 1]]));
    assert.deepEqual(await g.V().values('name').order().by(order.desc).toList(), ['bob', 'ann']);
    assert.equal(await one(g.V().has('age', P.gt(40).and(P.lt(50))).count()), 1);
    assert.deepEqual(await g.V().has(t.id, P.within(ann.id, 99)).values('name').toList(), ['ann']);
    assert.deepEqual(await g.V().has('name', 'nobody').toList(), []);
    // As an argument, an element stands for its id.
    assert.deepEqual(await g.inject(ann, edge).toList(), [ann.id, edge.id]);
  },

  async bulk({ g, client }) {
    assert.deepEqual(await g.inject(...Array(1000).fill(1)).barrier().toList(), Array(1000).fill(1));
    assert.deepEqual(await one(g.inject(1, 1, 2).aggregate('x').cap('x')), [1, 1, 2]);
    assert.deepEqual((await client.submit('g.inject(1, 1, 2).barrier()')).toArray(), [1, 1, 2]);
  },
};
